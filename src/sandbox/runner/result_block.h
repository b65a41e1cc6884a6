// What a child tells the zygote: plain data in memory that both map. A child that dies leaves
// behind how far it came; nothing here needs a destructor or a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fuseproof {

enum class Stage : std::uint32_t {
  kStarted,
  kSetupFailed,  // `text`: why. A fault of the sandbox, not of the object.
  kLoading,
  kDidNotLoad,  // `text`: the loader's message
  kCalling,
  kReturned,
  kException,  // `text`: what(); `type`: the exception's type
};

struct GuardRecord {
  std::uint64_t arena_offset;
  bool is_write;
};

struct ResultBlock {
  std::atomic<Stage> stage;
  std::uint32_t mxcsr_after;
  std::int64_t time_ns;
  // Set by the fault handler for a fault outside the guard pages.
  std::atomic<bool> has_fault_address;
  std::uint64_t fault_address;
  // May count beyond the array.
  std::atomic<std::uint32_t> guard_record_count;
  // Two pages a storage, two kinds of access, and a thread or two at once: enough for 250 storages.
  std::array<GuardRecord, 1024> guard_records;
  std::array<char, 256> type;
  std::array<char, 4096> text;
};

// Handlers of signals and two processes touch them.
static_assert(std::atomic<Stage>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace fuseproof
