#include <algorithm>

#include <ATen/ops/add.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/bitwise_xor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/copysign.h>
#include <ATen/ops/div.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/prod.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/true_divide.h>
#include <ATen/ops/var.h>

#include "reference/prim_functions.h"

namespace fuseproof::prims {
namespace {

at::OptionalIntArrayRef optional_ref(const OptionalInts& dims) {
  if (!dims) return std::nullopt;
  return at::IntArrayRef(*dims);
}

at::IntArrayRef dims_or_all(const OptionalInts& dims) {
  return dims ? at::IntArrayRef(*dims) : at::IntArrayRef();
}

// The reduced dimensions moved behind the kept ones and flattened: [kept…, reduced].
at::Tensor reduced_last(const at::Tensor& inp, const OptionalInts& dims) {
  if (!dims || dims->empty()) return inp.reshape({-1});
  Ints order;
  Ints shape;
  for (std::int64_t dim = 0; dim < inp.dim(); ++dim) {
    if (std::find(dims->begin(), dims->end(), dim) != dims->end()) continue;
    order.push_back(dim);
    shape.push_back(inp.size(dim));
  }
  std::int64_t length = 1;
  for (const std::int64_t dim : *dims) {
    order.push_back(dim);
    length *= inp.size(dim);
  }
  shape.push_back(length);
  return inp.permute(order).reshape(shape);
}

}  // namespace

at::Tensor cbrt(const at::Tensor& self) {
  TORCH_CHECK(!self.is_complex(),
              "cbrt: Complex inputs not supported. Consider calling torch.pow(a, 1.0/3.0)");
  return at::copysign(at::pow(self.abs(), 1.0 / 3.0), self);
}

// torch's is_integer_dtype: an integer that is no bool.
at::Tensor div(const at::Tensor& self, const at::Tensor& other) {
  if (at::isIntegralType(self.scalar_type(), false)) return at::div(self, other, "trunc");
  return at::true_divide(self, other);
}

// Rounded after the multiplication, as the Python implementation is.
at::Tensor fma(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c) {
  return at::add(at::mul(a, b), c);
}

at::Tensor sum(const at::Tensor& inp, const OptionalInts& dims, OptionalDType output_dtype) {
  return at::sum(inp, optional_ref(dims), false, output_dtype);
}

at::Tensor prod(at::Tensor inp, OptionalInts dims, OptionalDType output_dtype) {
  if (!dims) return at::prod(inp, output_dtype);
  if (dims->empty()) return inp.clone();
  std::sort(dims->rbegin(), dims->rend());
  for (const std::int64_t dim : *dims) inp = at::prod(inp, dim, false, output_dtype);
  return inp;
}

at::Tensor amax(const at::Tensor& inp, const OptionalInts& dims, OptionalDType) {
  return at::amax(inp, dims_or_all(dims));
}

at::Tensor amin(const at::Tensor& inp, const OptionalInts& dims, OptionalDType) {
  return at::amin(inp, dims_or_all(dims));
}

// Python has no implementation of its own; the meaning is NumPy's bitwise_xor.reduce.
at::Tensor xor_sum(at::Tensor inp, const OptionalInts& dims, OptionalDType output_dtype) {
  if (output_dtype) inp = inp.to(*output_dtype);
  at::Tensor values = reduced_last(inp, dims);
  if (values.size(-1) == 0) {
    Ints kept = values.sizes().vec();
    kept.pop_back();
    return inp.new_zeros(kept);
  }
  while (values.size(-1) > 1) {
    const std::int64_t half = values.size(-1) / 2;
    const at::Tensor folded =
        at::bitwise_xor(values.narrow(-1, 0, half), values.narrow(-1, half, half));
    const at::Tensor odd_one = values.narrow(-1, 2 * half, values.size(-1) - 2 * half);
    values = at::cat({folded, odd_one}, -1);
  }
  return values.squeeze(-1);
}

at::Tensor var(const at::Tensor& inp, const OptionalInts& dims, std::optional<double> correction,
               OptionalDType) {
  std::optional<at::Scalar> degrees;
  if (correction) degrees = at::Scalar(*correction);
  return at::var(inp, optional_ref(dims), degrees, false);
}

TensorPair prepare_softmax_online(const at::Tensor& a, std::int64_t dim) {
  at::Tensor maximum = at::amax(a, dim, true);
  at::Tensor sum = at::sum(at::exp(at::sub(a, maximum)), at::IntArrayRef(dim), true);
  return {std::move(maximum), std::move(sum)};
}

at::Tensor cvt_e8m0_rceil(const at::Tensor& input) {
  const at::ScalarType dtype = input.scalar_type();
  TORCH_CHECK(dtype == at::kFloat || dtype == at::kHalf || dtype == at::kBFloat16,
              "cvt_e8m0_rceil requires float32, float16, or bfloat16 input, got ", dtype);
  const at::Tensor bits = input.to(at::kFloat).view(at::kInt);
  const at::Tensor exponent = bits.bitwise_right_shift(23).bitwise_and(0xff);
  const at::Tensor rounds_up = bits.bitwise_and(0x7fffff).ne(0);
  return exponent.add(rounds_up.to(at::kInt)).clamp(0, 254).to(at::kByte);
}

}  // namespace fuseproof::prims
