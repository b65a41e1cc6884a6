#include "reference/accumulation.h"

#include <limits>
#include <string_view>

#include <ATen/ops/arange.h>
#include <ATen/ops/index.h>

namespace fuseproof {
namespace {

bool is(const Step& step, std::string_view name) {
  return std::string_view(step.target).starts_with(name);
}

// The row-major index of each element.
at::Tensor places_of(const at::Tensor& tensor) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  const auto dtype = tensor.numel() > kMax ? at::kLong : at::kInt;
  return at::arange(tensor.numel(), at::TensorOptions().dtype(dtype)).view(tensor.sizes());
}

Addends as_rows(const at::Tensor& places, const at::Tensor& values, at::ScalarType dtype) {
  return {places.reshape({-1}).to(at::kLong),
          values.expand(places.sizes()).reshape({-1}).to(dtype)};
}

// index_put_(self, indices, values, accumulate)
Addends put(const at::Tensor& self, const torch::jit::Stack& stack) {
  c10::List<std::optional<at::Tensor>> indices;
  for (const c10::IValue& index : stack[1].toListRef()) {
    indices.push_back(index.isNone() ? std::optional<at::Tensor>() : index.toTensor());
  }
  return as_rows(at::index(places_of(self), indices), stack[2].toTensor(), self.scalar_type());
}

// scatter_add_(self, dim, index, src)
Addends scattered(const at::Tensor& self, const torch::jit::Stack& stack) {
  const at::Tensor index = stack[2].toTensor();
  at::Tensor source = stack[3].toTensor();
  for (std::int64_t dim = 0; dim < index.dim(); ++dim) {
    source = source.narrow(dim, 0, index.size(dim));
  }
  const at::Tensor places = places_of(self).gather(stack[1].toInt(), index.to(at::kLong));
  return as_rows(places, source, self.scalar_type());
}

// index_add_(self, dim, index, source, *, alpha)
Addends indexed(const at::Tensor& self, const torch::jit::Stack& stack) {
  const at::Tensor places = places_of(self).index_select(stack[1].toInt(), stack[2].toTensor());
  const at::Tensor source = stack[3].toTensor().mul(stack[4].toScalar());
  return as_rows(places, source, self.scalar_type());
}

}  // namespace

std::optional<Addends> addends_of(const Step& step, const torch::jit::Stack& stack) {
  if (stack.empty() || !stack[0].isTensor() || stack[0].toTensor().dim() == 0) return std::nullopt;
  const at::Tensor self = stack[0].toTensor();
  const bool is_put = is(step, "aten.index_put") || is(step, "aten._unsafe_index_put") ||
                      is(step, "prims._unsafe_index_put_");
  if (is_put) return put(self, stack);
  if (is(step, "aten.scatter_add")) return scattered(self, stack);
  if (is(step, "aten.index_add")) return indexed(self, stack);
  return std::nullopt;
}

at::Tensor accumulated(const at::Tensor& before, const Addends& addends) {
  at::Tensor row = before.reshape({-1}).clone();
  c10::List<std::optional<at::Tensor>> indices;
  indices.push_back(addends.places);
  return row.index_put_(indices, addends.values, /*accumulate=*/true).view(before.sizes());
}

}  // namespace fuseproof
