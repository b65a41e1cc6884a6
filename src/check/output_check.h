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

// Of an output that another run on the same inputs left as `other`. Both runs must be right, and
// PyTorch must leave open in which order the elements add; else the kernel is nondeterministic.
// `result` is that of the first run and becomes that of both; `message` says that they differ.
void judge_other_run(const OutputSides& sides, const OutputSide& other, const std::string& message,
                     const std::vector<Packed>& others, const CheckSettings& settings,
                     OutputResult& result);

}  // namespace fuseproof
