// Judges one recorded call of one kernel: fragment against artifact, on the same inputs.
#pragma once

#include <string>

#include "bundle/run.h"
#include "bundle/runners.h"
#include "check/results.h"
#include "verdict/cann.h"
#include "verdict/default_profile.h"

namespace fuseproof {

enum class Criteria : std::uint8_t { kDefault, kCann };

struct CheckSettings {
  Criteria criteria = Criteria::kDefault;
  DefaultProfile profile;
  CannThresholds cann;
  RunLimits limits;
};

// "model.py:12: y = x.relu()": what the kernel ends in; "" where no line of the user's is known.
std::string last_user_line(const Graph& graph);

// Runs the kernel twice (different poison) and the fragment once; in float64 and disturbed only
// where the numbers need a further opinion. Throws Error for a fault of the bundle or of Fuseproof;
// faults of the kernel are verdicts.
SiteResult check_call(const RunReader& run, const SiteBundle& site, std::int64_t call_index,
                      KernelRunner& kernels, ReferenceRunner& reference,
                      const CheckSettings& settings);

}  // namespace fuseproof
