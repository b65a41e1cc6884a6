// What the sandbox is asked to call, and what became of it. Plain data, free of bundles and torch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"

namespace fuseproof {

struct SandboxArgument {
  enum class Kind : std::uint8_t { kPointer, kInteger, kFloat, kDouble };
  Kind kind = Kind::kPointer;
  std::size_t storage = 0;       // kPointer: index into the arena
  std::int64_t byte_offset = 0;  // kPointer: from the storage's first byte, 0 to its size
  std::int64_t integer = 0;      // kInteger: passed as int64_t
  double number = 0;             // kFloat (rounded to float), kDouble
};

// 0 means no limit.
struct SandboxLimits {
  int cpu_seconds = 60;  // for each thread asked for: the process may use cpu_seconds * threads
  int wall_seconds = 120;
  std::uint64_t memory_bytes = 0;  // address space that the call may add (thread stacks included)
};

struct SandboxRequest {
  Path object;  // shared object; absolute
  std::string entry = "kernel";
  std::vector<SandboxArgument> arguments;
  int threads = 1;               // of an OpenMP region that names no number itself
  std::uint32_t mxcsr = 0x1f80;  // x86 control word during the call
  SandboxLimits limits;
};

enum class SandboxOutcome : std::uint8_t {
  kReturned,
  kException,   // a C++ exception left the entry
  kCrashed,     // a signal, or the code ended its process itself
  kHung,        // over the CPU-time or wall limit
  kDidNotLoad,  // the dynamic loader refused the object, or it has no such entry
};

// The first access of its kind to a guard page. Later accesses to the same page go unseen.
struct SandboxGuardHit {
  std::size_t storage = 0;
  std::int64_t byte_offset = 0;  // relative to the storage's first byte
  bool is_write = false;
};

struct SandboxReport {
  SandboxOutcome outcome = SandboxOutcome::kReturned;
  std::string message;         // what() of the exception; else what happened, in words
  std::string exception_type;  // demangled: "std::out_of_range"
  std::string error_output;    // the last bytes that the call wrote to stderr
  std::string note;            // about the sandbox itself: the runner had died and was restarted
  std::vector<SandboxGuardHit> guard_hits;
  std::uint32_t mxcsr_after = 0;  // status bits cleared; 0 unless the call returned or threw
  std::int64_t time_ns = 0;       // of the call alone, the start of its threads included
};

}  // namespace fuseproof
