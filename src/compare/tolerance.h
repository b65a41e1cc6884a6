// The smallest tolerance at which two tensors would count as equal.
#pragma once

#include "compare/packed.h"

namespace fuseproof {

// In torch.allclose's form: |actual − expected| ≤ atol with rtol = 0, and ≤ rtol·|expected| with
// atol = 0. Both infinite where NaN or Inf stand at different positions; `relative` also where an
// element that differs has an expected value of zero. Complex: the worse of the two parts.
struct MinimumTolerance {
  double absolute = 0;
  double relative = 0;
};

// Both sides have the same dtype and count. Linear, not vectorised: it is for findings.
MinimumTolerance minimum_tolerance(const Packed& expected, const Packed& actual);

}  // namespace fuseproof
