// Shared memory in which the storages of one kernel or reference call lie, between the process that
// judges and the process that computes.
//
// Layout of the mapping, for each storage:
//
//   | guard page | front band … | storage | rear band … | guard page |
//
// The storage's address modulo 64 is the one that it had in the program (vector bodies and scalar
// tails follow the address), and its end lies as near to the rear guard page as that allows: the
// rear band has 0 to 63 bytes, the front band at least 64. Guard pages are made inaccessible by the
// process that calls the kernel; the bands hold a known pattern. The mapping is a memfd: the
// computing process maps the same descriptor. Rejected: one mapping for each storage (many
// descriptors to pass), and malloc with red zones (no page protection).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"

namespace fuseproof {

struct ArenaSlot {
  std::size_t offset = 0;      // of the storage in the mapping
  std::size_t size_bytes = 0;  // of the storage
  std::size_t begin = 0;       // of the slot with its guards: a front guard page starts here
  std::size_t end = 0;         // one past the rear guard page
};

struct StorageRequest {
  std::size_t size_bytes = 0;
  std::size_t address_mod_64 = 0;
};

// A process's mapping of an arena. Movable; unmaps and closes on destruction.
class Arena {
 public:
  // Creates the memfd and maps it. The storages are zero, the bands hold kGuardByte.
  static Arena create(std::span<const StorageRequest> storages);
  // Maps an arena that another process created. Takes ownership of the descriptor. kPrivate: writes
  // stay in this process (copy on write).
  enum class Sharing : std::uint8_t { kShared, kPrivate };
  static Arena attach(int fd, const Json& description, Sharing sharing);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  std::size_t storage_count() const { return slots_.size(); }
  std::span<std::byte> storage(std::size_t index);
  std::span<const std::byte> storage(std::size_t index) const;
  std::span<const ArenaSlot> slots() const { return slots_; }
  std::byte* base() const { return base_; }
  std::size_t size_bytes() const { return size_bytes_; }
  int fd() const { return fd_; }

  // What attach() needs: sizes and offsets.
  Json description() const;

  // Fills the bands (not the guard pages) with kGuardByte.
  void fill_bands();
  // Storages whose front or rear band no longer holds the pattern, with the first offset of the
  // damage relative to the storage (negative: before its first byte).
  struct BandDamage {
    std::size_t storage;
    std::int64_t first_byte;
    std::size_t changed_bytes;
  };
  std::vector<BandDamage> damaged_bands() const;

  static constexpr std::byte kGuardByte{0xb5};

 private:
  Arena() = default;
  void map(Sharing sharing);

  std::byte* base_ = nullptr;
  std::size_t size_bytes_ = 0;
  int fd_ = -1;
  std::vector<ArenaSlot> slots_;
};

}  // namespace fuseproof
