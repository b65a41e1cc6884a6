#include <ATen/Parallel.h>
#include <ATen/core/PhiloxRNGEngine.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_permuted.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/scalar_tensor.h>

#include "reference/prim_functions.h"

namespace fuseproof::prims {
namespace {

at::TensorOptions options(at::ScalarType dtype, c10::Device device) {
  return at::TensorOptions().dtype(dtype).device(device);
}

// A generator for the element at a row-major position. Inductor's kernels (cpp_prefix.h) take the
// low 32 bits of the seed and of the position.
at::Philox4_32 generator(std::int64_t seed, std::int64_t position) {
  return at::Philox4_32(static_cast<std::uint32_t>(seed), 0, static_cast<std::uint32_t>(position));
}

float uniform(std::int64_t seed, std::int64_t position) {
  constexpr float kScale = 4.6566127342e-10f;  // the largest with (2^31 - 1) * kScale below 1
  return static_cast<float>(generator(seed, position)() & 0x7fffffff) * kScale;
}

float gaussian(std::int64_t seed, std::int64_t position) {
  return generator(seed, position).randn(10);
}

std::int64_t integer(std::int64_t seed, std::int64_t position, std::int64_t low,
                     std::int64_t high) {
  at::Philox4_32 engine = generator(seed, position);
  const std::uint64_t low_word = engine();
  const std::uint64_t high_word = engine();
  const std::uint64_t drawn = low_word | (high_word << 32);
  // Unsigned: the range of 64-bit limits does not fit into an int64.
  const auto first = static_cast<std::uint64_t>(low);
  return static_cast<std::int64_t>(drawn % (static_cast<std::uint64_t>(high) - first) + first);
}

template <typename T, typename Draw>
at::Tensor drawn(const Ints& size, at::ScalarType dtype, Draw&& draw) {
  at::Tensor result = at::empty(size, dtype);
  T* values = result.mutable_data_ptr<T>();
  constexpr std::int64_t kGrain = 4096;  // elements that are worth a thread
  at::parallel_for(0, result.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) values[i] = draw(i);
  });
  return result;
}

}  // namespace

at::Tensor iota(std::int64_t length, std::int64_t start, std::int64_t step, at::ScalarType dtype,
                c10::Device device, bool) {
  return at::arange(start, start + length * step, step, options(dtype, device));
}

at::Tensor empty(const Ints& shape, at::ScalarType dtype, c10::Device device, bool) {
  return at::empty(shape, options(dtype, device));
}

at::Tensor empty_strided(const Ints& shape, const Ints& strides, at::ScalarType dtype,
                         c10::Device device, bool) {
  return at::empty_strided(shape, strides, options(dtype, device));
}

at::Tensor empty_permuted(const Ints& shape, const Ints& physical_layout, at::ScalarType dtype,
                          c10::Device device, bool) {
  return at::empty_permuted(shape, physical_layout, options(dtype, device));
}

at::Tensor full(const Ints& shape, const at::Scalar& fill_value, at::ScalarType dtype,
                c10::Device device, bool) {
  return at::full(shape, fill_value, options(dtype, device));
}

at::Tensor full_like(const at::Tensor& a, const at::Scalar& fill_value, at::ScalarType dtype,
                     c10::Device device, bool) {
  return at::full_like(a, fill_value, options(dtype, device));
}

at::Tensor scalar_tensor(const at::Scalar& s, OptionalDType dtype,
                         std::optional<c10::Device> device) {
  TORCH_CHECK(!s.isComplex() || (dtype && at::isComplexType(*dtype)),
              "Complex scalar requires complex tensor dtype.");
  return at::scalar_tensor(s, dtype, std::nullopt, device, std::nullopt);
}

at::Tensor inductor_lookup_seed(const at::Tensor& seeds, std::int64_t index) {
  return seeds.select(0, index).clone();
}

at::Tensor inductor_random(const Ints& size, const at::Tensor& seed, const std::string& mode,
                           OptionalDType) {
  TORCH_CHECK(mode == "rand" || mode == "randn", "inductor_random: unknown mode ", mode);
  const auto key = seed.item<std::int64_t>();
  const auto draw = mode == "rand" ? uniform : gaussian;
  return drawn<float>(size, at::kFloat, [&](std::int64_t i) { return draw(key, i); });
}

at::Tensor inductor_randint(std::int64_t low, std::int64_t high, const Ints& size,
                            const at::Tensor& seed) {
  TORCH_CHECK(low < high, "inductor_randint: the range [", low, ", ", high, ") is empty");
  const auto key = seed.item<std::int64_t>();
  return drawn<std::int64_t>(size, at::kLong,
                             [&](std::int64_t i) { return integer(key, i, low, high); });
}

}  // namespace fuseproof::prims
