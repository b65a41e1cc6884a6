// Judges one output of a kernel: takes both sides out of their arenas, lets verdict/ judge the
// numbers, and describes the worst element.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "check/call_check.h"

namespace fuseproof {

// One side's value of an output: packed elements with their shape and dtype.
struct OutputSide {
  Layout layout;
  std::vector<std::byte> packed;

  Packed view() const { return {layout.dtype, packed}; }
};

struct OutputSides {
  OutputSide kernel;
  OutputSide eager;
  // The float64 run; called at most once, only when the screen does not settle the matter. Empty
  // with the reason in `no_oracle`.
  struct Exact {
    std::vector<double> values;
    std::string no_oracle;
  };
  std::function<Exact()> exact;
  // The envelope round it: as long as its values, or empty when there is none. Costs many runs.
  std::function<std::vector<double>()> envelope;
  // Where free runs of the fragment put each element, for an output that was found wrong; empty
  // when there are none.
  struct FreeSpan {
    std::vector<double> low, high;
  };
  std::function<FreeSpan()> span;
  int rounding_ops = 1;
  int noise_bits = 24;
};

// Fills judgement, worst element, errors and tolerance of `result`. `others`: the eager values of
// the kernel's other outputs, for the controls.
void judge_output(const OutputSides& sides, const std::vector<Packed>& others,
                  const CheckSettings& settings, OutputResult& result);

}  // namespace fuseproof
