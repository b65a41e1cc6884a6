// Sums in the order in which generated code takes them: one element after the other. ATen adds up
// pairwise, which hardly shows what rounding can do to a sum.
#pragma once

#include <ATen/core/Tensor.h>

namespace fuseproof {

// How many elements generated code adds before it begins another sum: its CascadeSumHelper (torch's
// inductor/cpp_prefix.h) counts chunks of 4096, and puts every second one away.
inline constexpr std::int64_t kMaxAdditions = 2 * 4096;

// How a kernel divides one sum. Its threads each take a part of the rows, one part after the other.
// A vector's lanes each take every so many-th row of a part.
struct SumShape {
  std::int64_t lanes = 1;
  std::int64_t parts = 1;
};

// rows: [count, n] in float32 or float64, any strides; the sums over its first dimension: [n], in
// its dtype. In a lane, runs of kMaxAdditions rows are added in order, and then the runs' sums; the
// lanes' sums and then the parts' come last.
at::Tensor sequential_sum(const at::Tensor& rows, const SumShape& shape);

}  // namespace fuseproof
