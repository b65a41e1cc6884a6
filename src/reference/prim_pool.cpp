// Max pooling that remembers, for each window, the position of the maximum within the window (one
// int8) where ATen remembers its position in the input (one int64).
#include <functional>
#include <numeric>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool3d_with_indices.h>

#include "reference/prim_functions.h"

namespace fuseproof::prims {
namespace {

at::Tensor floor_divide(const at::Tensor& a, std::int64_t b) { return a.div(b, "floor"); }

// Row-major position → one index for each dimension of `shape`.
std::vector<at::Tensor> unflatten(at::Tensor position, at::IntArrayRef shape) {
  std::vector<at::Tensor> indices;
  for (std::size_t dim = 0; dim + 1 < shape.size(); ++dim) {
    const auto inner =
        std::accumulate(shape.begin() + dim + 1, shape.end(), std::int64_t{1}, std::multiplies<>());
    at::Tensor index = floor_divide(position, inner);
    position = position - index * inner;
    indices.push_back(std::move(index));
  }
  indices.push_back(std::move(position));
  return indices;
}

at::Tensor flatten(const std::vector<at::Tensor>& indices, at::IntArrayRef shape) {
  at::Tensor result = indices[0];
  for (std::size_t dim = 1; dim < indices.size(); ++dim)
    result = result * shape[dim] + indices[dim];
  return result;
}

// Where each window begins along pooled dimension `dim`, shaped to broadcast against `like`.
at::Tensor window_begin(const at::Tensor& like, std::size_t dim, const Ints& stride,
                        const Ints& padding) {
  const std::int64_t axis =
      static_cast<std::int64_t>(dim) - static_cast<std::int64_t>(stride.size());
  Ints shape(like.dim(), 1);
  shape[like.dim() + axis] = -1;
  const at::Tensor window = at::arange(like.size(axis), at::kLong).view(shape);
  return window * stride[dim] - padding[dim];
}

}  // namespace

TensorPair low_memory_max_pool_with_offsets(const at::Tensor& self, const Ints& kernel_size,
                                            const Ints& stride, const Ints& padding, Ints dilation,
                                            bool ceil_mode) {
  const std::size_t pooled = kernel_size.size();
  TORCH_CHECK(pooled == 2 || pooled == 3, "max pooling of ", pooled, " dimensions");
  auto [values, positions] =
      pooled == 2
          ? at::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)
          : at::max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode);
  std::vector<at::Tensor> indices = unflatten(positions, self.sizes().slice(self.dim() - pooled));
  for (std::size_t dim = 0; dim < pooled; ++dim) {
    const at::Tensor begin = window_begin(positions, dim, stride, padding);
    indices[dim] = floor_divide(indices[dim] - begin, dilation[dim]);
  }
  return {values, flatten(indices, kernel_size).to(at::kChar)};
}

at::Tensor low_memory_max_pool_offsets_to_indices(const at::Tensor& self, const Ints& kernel_size,
                                                  const Ints& input_size, const Ints& stride,
                                                  const Ints& padding, Ints dilation) {
  const at::Tensor offsets = self.to(at::kLong);
  std::vector<at::Tensor> indices = unflatten(offsets, kernel_size);
  for (std::size_t dim = 0; dim < indices.size(); ++dim) {
    const at::Tensor begin = window_begin(offsets, dim, stride, padding);
    indices[dim] = begin + indices[dim] * dilation[dim];
  }
  return flatten(indices, input_size);
}

}  // namespace fuseproof::prims
