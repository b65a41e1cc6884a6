#include "reference/sequential_sum.h"

#include <algorithm>
#include <span>

#include <ATen/ops/zeros.h>

namespace fuseproof {
namespace {

template <typename Float>
void add_rows(const Float* rows, std::int64_t count, std::span<Float> sums) {
  for (std::int64_t row = 0; row < count; ++row, rows += sums.size()) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += rows[i];
  }
}

// run_sums: [runs, n], zeros before.
template <typename Float>
void add_runs(const at::Tensor& rows, at::Tensor& run_sums) {
  const std::int64_t width = rows.size(1);
  for (std::int64_t run = 0; run < run_sums.size(0); ++run) {
    const std::int64_t begin = run * kMaxAdditions;
    add_rows(rows.const_data_ptr<Float>() + begin * width,
             std::min(kMaxAdditions, rows.size(0) - begin),
             std::span(run_sums.mutable_data_ptr<Float>() + run * width,
                       static_cast<std::size_t>(width)));
  }
}

// packed: contiguous.
at::Tensor sum_in_one_lane(const at::Tensor& packed) {
  const std::int64_t runs = (packed.size(0) + kMaxAdditions - 1) / kMaxAdditions;
  at::Tensor run_sums = at::zeros({runs, packed.size(1)}, packed.options());
  if (packed.scalar_type() == at::kDouble) {
    add_runs<double>(packed, run_sums);
  } else {
    add_runs<float>(packed, run_sums);
  }
  return run_sums.sum(0);
}

// packed: contiguous.
at::Tensor sum_in_lanes(const at::Tensor& packed, std::int64_t lanes) {
  const std::int64_t count = packed.size(0), width = packed.size(1), depth = count / lanes;
  const at::Tensor in_lanes = packed.narrow(0, 0, depth * lanes).view({depth, lanes * width});
  const at::Tensor lane_sums = sum_in_one_lane(in_lanes).view({lanes, width});
  const at::Tensor rest = sum_in_one_lane(packed.narrow(0, depth * lanes, count % lanes));
  return sum_in_one_lane(lane_sums).add(rest);
}

}  // namespace

at::Tensor sequential_sum(const at::Tensor& rows, const SumShape& shape) {
  const at::Tensor packed = rows.contiguous();
  const std::int64_t count = packed.size(0);
  const std::int64_t part = std::max<std::int64_t>((count + shape.parts - 1) / shape.parts, 1);
  at::Tensor sum = at::zeros({packed.size(1)}, packed.options());
  for (std::int64_t begin = 0; begin < count; begin += part) {
    sum.add_(sum_in_lanes(packed.narrow(0, begin, std::min(part, count - begin)), shape.lanes));
  }
  return sum;
}

}  // namespace fuseproof
