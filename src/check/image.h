// The memory of one kernel call before it runs: inputs as recorded, poison wherever the kernel has
// to write, and masks that say which bytes it may touch.
//
// For every byte of every storage:
//   read     some argument that is read (in, inout) covers it: holds the recorded content
//   written  some argument that is written (out, inout) covers it
//   poisoned = written and not read: holds the poison pattern, so that an element that the kernel
//              leaves unwritten, or reads although nothing was ever there, shows
//   the rest must come back unchanged (gaps between rows, read-only inputs)
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bundle/run.h"
#include "check/byte_mask.h"
#include "tensor/arena.h"

namespace fuseproof {

// Fill patterns of the two runs. Bytes of bool arguments get 0 and 1 instead, the only valid ones.
enum class Poison : std::uint8_t {
  kNan,     // 0xff: NaN in every float dtype, -1 in signed integers
  kFinite,  // 0x3c: a small positive number in every dtype
};

class CallImage {
 public:
  // Maps the blobs of the call. Throws kBadInput for a blob that does not fit.
  CallImage(const RunReader& run, const SiteBundle& site, const CallRecord& call);

  // Storages of an arena for this call (sizes, addresses modulo 64).
  std::vector<StorageRequest> requests() const;
  // Recorded contents only, zeros elsewhere: what the reference sees.
  void fill_inputs(Arena& arena) const;
  // Recorded contents and poison: what the kernel sees.
  void fill_poisoned(Arena& arena, Poison poison) const;

  // Why inputs are missing ("budget", "layout"), or "" when all are there.
  const std::string& missing_inputs() const { return missing_inputs_; }

  // Bytes outside every written argument that differ from what fill_poisoned put there.
  struct Trespass {
    std::size_t storage;
    std::size_t first_byte;
    std::size_t changed_bytes;
    bool is_input;  // the byte belongs to a read-only argument
  };
  std::vector<Trespass> trespasses(const Arena& arena, Poison poison) const;

  bool is_written(std::size_t storage, std::size_t byte) const {
    return storages_[storage].written[byte];
  }
  // Whether an argument that is written lies in the storage.
  bool is_written(std::size_t storage) const {
    return storages_[storage].written.extent() != ByteMask::Extent::kNone;
  }
  // Whether the kernel has to write the byte and found poison in it.
  bool is_poisoned(std::size_t storage, std::size_t byte) const {
    return storages_[storage].is_poisoned(byte);
  }
  std::byte poison_byte(std::size_t storage, std::size_t byte, Poison poison) const;

 private:
  struct Storage {
    explicit Storage(std::size_t size_bytes)
        : read(size_bytes), written(size_bytes), is_bool(size_bytes) {}

    bool is_poisoned(std::size_t byte) const { return written[byte] && !read[byte]; }
    // Whether all of it is poison, or nothing; neither: some is.
    bool is_all_poison() const;
    bool has_no_poison() const;

    std::shared_ptr<const FileContent> content;  // null: nothing was recorded
    ByteMask read, written, is_bool;
  };

  void mark_arguments(const SiteBundle& site, const CallRecord& call);
  bool is_untouched_input(std::size_t storage, std::span<const std::byte> after) const;
  std::byte initial_byte(std::size_t storage, std::size_t byte, Poison poison) const;

  std::vector<StorageRequest> requests_;
  std::vector<Storage> storages_;
  std::string missing_inputs_;
};

// The layout of a fragment output in its storage at this call; throws as layout_in_storage.
Layout layout_of_output(const CallRecord& call, const FragmentOutput& output);

}  // namespace fuseproof
