// Runs a kernel on one call's inputs and judges everything about it but its numbers: that it
// returns, stays inside its buffers, writes all of its outputs, leaves its inputs and the
// floating-point mode alone, and gives the same bytes when it is run again over other memory
// contents.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bundle/runners.h"
#include "check/image.h"
#include "verdict/vocabulary.h"

namespace fuseproof {

struct Misconduct {
  Verdict verdict = Verdict::kKernelWrong;
  DifferenceKind difference = DifferenceKind::kNone;
  std::string message;
};

// What another run left in a storage than the one in the arena.
struct OtherRun {
  std::vector<std::byte> bytes;
  std::string message;  // that two runs differ, and where
};

struct Trial {
  std::optional<Misconduct> misconduct;
  // The C++ exception that left the kernel; then the outputs mean nothing.
  std::string exception;
  // By storage, where runs over equal memory differ. Whether that is something to complain of hangs
  // on what the kernel computes.
  std::map<std::size_t, OtherRun> other_runs;
  std::vector<std::string> notes;  // overreads, unwritten temporaries
  std::int64_t time_ns = 0;        // of the last run
};

// Runs the kernel twice, with different poison in what it has to write, and again where the two
// disagree. Without misconduct and exception, the arena then holds what one of the runs left.
Trial try_kernel(const SiteBundle& site, const CallRecord& call, const CallImage& image,
                 KernelRunner& kernels, const RunLimits& limits, Arena& arena);

}  // namespace fuseproof
