// Sums in the order in which generated code takes them: one element after the other. ATen adds up
// pairwise, which hardly shows what rounding can do to a sum.
#pragma once

#include <ATen/core/Tensor.h>

namespace fuseproof {

// How many elements generated code adds before it begins another sum: its CascadeSumHelper (torch's
// inductor/cpp_prefix.h) counts chunks of 4096, and puts every second one away.
inline constexpr std::int64_t kMaxAdditions = 2 * 4096;

// rows: [count, n] in float32 or float64, any strides; the sums over its first dimension: [n], in
// its dtype. With several lanes, as a vector has, each takes every so many-th row and their sums
// come last. In a lane, runs of kMaxAdditions rows are added in order, and then the runs' sums.
at::Tensor sequential_sum(const at::Tensor& rows, std::int64_t lanes);

}  // namespace fuseproof
