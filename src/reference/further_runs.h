// The runs of a fragment that are asked for only when its plain run does not settle a matter: how
// far rounding moves it, where a decision falls otherwise, what it gives without half-precision
// rounding, what PyTorch leaves open.
#pragma once

#include <string>
#include <vector>

#include "bundle/runners.h"
#include "reference/interpreter.h"

namespace fuseproof {

// What one run computed, before it is copied to shared memory.
struct Computed {
  std::vector<at::Tensor> outputs;
  ReferenceRun run;
};

// A fragment and the call that it is run on. Owns nothing.
struct FragmentRun {
  const Fragment& fragment;
  const Program& program;
  const std::vector<std::string>& output_names;
  const CallRecord& call;
  const Arena& inputs;
  Progress* progress;
};

std::vector<at::Tensor> output_tensors(const FragmentRun& run, const Environment& environment);

// ReferenceMode::kEnvelope round `exact`, the outputs of the float64 run.
Computed compute_envelope(const FragmentRun& run, const std::vector<at::Tensor>& exact);
Computed compute_span(const FragmentRun& run);       // ReferenceMode::kSpan
Computed compute_unrounded(const FragmentRun& run);  // ReferenceMode::kUnrounded
Computed compute_open(const FragmentRun& run);       // ReferenceMode::kOpen
// All throw StepFailure.

}  // namespace fuseproof
