#include <algorithm>

#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>

#include "reference/prim_functions.h"

namespace fuseproof::prims {
namespace {

// The shape with the dimensions start … end (both included) merged. A 0-dim tensor counts as [1].
Ints collapsed_shape(const at::Tensor& a, std::int64_t start, std::int64_t end) {
  Ints shape = a.dim() == 0 ? Ints{1} : a.sizes().vec();
  const auto count = static_cast<std::int64_t>(shape.size());
  TORCH_CHECK(0 <= start && start <= end && end < count, "Attempting to collapse dimensions ",
              start, " to ", end, " of a tensor of rank ", count);
  std::int64_t length = 1;
  for (std::int64_t dim = start; dim <= end; ++dim) length *= shape[dim];
  shape.erase(shape.begin() + start, shape.begin() + end + 1);
  shape.insert(shape.begin() + start, length);
  return shape;
}

}  // namespace

at::Tensor broadcast_in_dim(at::Tensor a, const Ints& shape, Ints broadcast_dimensions) {
  at::Tensor view = std::move(a);
  for (std::int64_t dim = 0; dim < static_cast<std::int64_t>(shape.size()); ++dim) {
    const bool is_kept = std::find(broadcast_dimensions.begin(), broadcast_dimensions.end(), dim) !=
                         broadcast_dimensions.end();
    if (!is_kept) view = view.unsqueeze(dim);
  }
  return view.expand(shape);
}

at::Tensor collapse(const at::Tensor& a, std::int64_t start, std::int64_t end) {
  at::Tensor result = a.new_empty(collapsed_shape(a, start, end));
  result.view_as(a).copy_(a);
  return result;
}

at::Tensor collapse_view(const at::Tensor& a, std::int64_t start, std::int64_t end) {
  return a.view(collapsed_shape(a, start, end));
}

at::Tensor split_dim(const at::Tensor& a, std::int64_t dim, std::int64_t outer_length) {
  TORCH_CHECK(0 <= dim && dim < a.dim() && outer_length > 0 && a.size(dim) % outer_length == 0,
              "Attempting to split dimension ", dim, " of ", a.sizes(), " by ", outer_length);
  Ints shape = a.sizes().vec();
  shape[dim] /= outer_length;
  shape.insert(shape.begin() + dim, outer_length);
  return a.view(shape);
}

at::Tensor view_of(const at::Tensor& a) { return a.view(a.sizes()); }

at::Tensor reshape(const at::Tensor& a, const Ints& shape) {
  return a.reshape(shape).clone(at::MemoryFormat::Contiguous);
}

at::Tensor copy_strided(const at::Tensor& a, const Ints& stride) {
  return at::empty_strided(a.sizes(), stride, a.options()).copy_(a);
}

at::Tensor copy_to(const at::Tensor& a, const at::Tensor& b) { return a.copy_(b); }

at::Tensor resize(at::Tensor a, const Ints& shape) {
  a.resize_(shape);
  return a;
}

at::Tensor inductor_force_stride_order(at::Tensor input, const Ints& stride) {
  if (input.strides() == at::IntArrayRef(stride)) return input;
  return input.clone().as_strided(input.sizes(), stride).copy_(input);
}

at::Tensor convert_element_type(const at::Tensor& a, at::ScalarType dtype) {
  return at::empty_like(a, a.options().dtype(dtype)).copy_(a);
}

at::Tensor device_put(const at::Tensor& a, c10::Device device, bool non_blocking) {
  return a.to(device, a.scalar_type(), non_blocking);
}

}  // namespace fuseproof::prims
