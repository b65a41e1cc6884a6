// Means whose sums are buffers of their own.
//
// A lowering may compute a mean as a sum and a division, and the two may end up in two kernels: the
// sum then leaves the first and enters the second, and no FX node stands for it. So such a mean is
// read as the calls that it consists of,
//
//     mean_undivided = aten.sum.dim_IntList(x, …), mean = aten.div.Scalar(mean_undivided, n)
//
// which is also what ATen's CPU kernel computes (mean_kernel_impl: the sum, in float32 for
// half-precision inputs, then div_), bit by bit.
#pragma once

#include "fragment/lowering_record.h"

namespace fuseproof {

// Replaces the means of `lowered` whose sum a buffer holds. To be called before build_index().
void split_undivided_means(LoweredGraph& lowered);

}  // namespace fuseproof
