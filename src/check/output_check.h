// Judges one output of a kernel: takes both sides out of their arenas, lets verdict/ judge the
// numbers, and describes the worst element.
#pragma once

#include <vector>

#include "check/call_check.h"
#include "check/default_judge.h"

namespace fuseproof {

// Fills judgement, worst element, errors and tolerance of `result`. `others`: the eager values of
// the kernel's other outputs, for the controls.
void judge_output(const OutputSides& sides, const std::vector<Packed>& others,
                  const CheckSettings& settings, OutputResult& result);

}  // namespace fuseproof
