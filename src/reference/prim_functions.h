// The prims that are more than another name of an ATen operator. Names, arguments and results are
// those of their schemas in prims.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/core/Tensor.h>

namespace fuseproof::prims {

using Ints = std::vector<std::int64_t>;
using OptionalInts = std::optional<Ints>;
using OptionalDType = std::optional<at::ScalarType>;
using TensorPair = std::tuple<at::Tensor, at::Tensor>;

// prim_shapes.cpp
at::Tensor broadcast_in_dim(at::Tensor a, const Ints& shape, Ints broadcast_dimensions);
at::Tensor collapse(const at::Tensor& a, std::int64_t start, std::int64_t end);
at::Tensor collapse_view(const at::Tensor& a, std::int64_t start, std::int64_t end);
at::Tensor split_dim(const at::Tensor& a, std::int64_t dim, std::int64_t outer_length);
at::Tensor view_of(const at::Tensor& a);
at::Tensor reshape(const at::Tensor& a, const Ints& shape);
at::Tensor copy_strided(const at::Tensor& a, const Ints& stride);
at::Tensor copy_to(const at::Tensor& a, const at::Tensor& b);
at::Tensor resize(at::Tensor a, const Ints& shape);
at::Tensor inductor_force_stride_order(at::Tensor input, const Ints& stride);
at::Tensor convert_element_type(const at::Tensor& a, at::ScalarType dtype);
at::Tensor device_put(const at::Tensor& a, c10::Device device, bool non_blocking);

// prim_math.cpp
at::Tensor cbrt(const at::Tensor& self);
at::Tensor div(const at::Tensor& self, const at::Tensor& other);
at::Tensor fma(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c);
at::Tensor sum(const at::Tensor& inp, const OptionalInts& dims, OptionalDType output_dtype);
at::Tensor prod(at::Tensor inp, OptionalInts dims, OptionalDType output_dtype);
at::Tensor amax(const at::Tensor& inp, const OptionalInts& dims, OptionalDType output_dtype);
at::Tensor amin(const at::Tensor& inp, const OptionalInts& dims, OptionalDType output_dtype);
at::Tensor xor_sum(at::Tensor inp, const OptionalInts& dims, OptionalDType output_dtype);
at::Tensor var(const at::Tensor& inp, const OptionalInts& dims, std::optional<double> correction,
               OptionalDType output_dtype);
TensorPair prepare_softmax_online(const at::Tensor& a, std::int64_t dim);
at::Tensor cvt_e8m0_rceil(const at::Tensor& input);

// prim_factories.cpp
at::Tensor iota(std::int64_t length, std::int64_t start, std::int64_t step, at::ScalarType dtype,
                c10::Device device, bool requires_grad);
at::Tensor empty(const Ints& shape, at::ScalarType dtype, c10::Device device, bool requires_grad);
at::Tensor empty_strided(const Ints& shape, const Ints& strides, at::ScalarType dtype,
                         c10::Device device, bool requires_grad);
at::Tensor empty_permuted(const Ints& shape, const Ints& physical_layout, at::ScalarType dtype,
                          c10::Device device, bool requires_grad);
at::Tensor full(const Ints& shape, const at::Scalar& fill_value, at::ScalarType dtype,
                c10::Device device, bool requires_grad);
at::Tensor full_like(const at::Tensor& a, const at::Scalar& fill_value, at::ScalarType dtype,
                     c10::Device device, bool requires_grad);
at::Tensor scalar_tensor(const at::Scalar& s, OptionalDType dtype,
                         std::optional<c10::Device> device);
at::Tensor inductor_lookup_seed(const at::Tensor& seeds, std::int64_t index);
at::Tensor inductor_random(const Ints& size, const at::Tensor& seed, const std::string& mode,
                           OptionalDType align_dtype);
at::Tensor inductor_randint(std::int64_t low, std::int64_t high, const Ints& size,
                            const at::Tensor& seed);

// prim_pool.cpp
TensorPair low_memory_max_pool_with_offsets(const at::Tensor& self, const Ints& kernel_size,
                                            const Ints& stride, const Ints& padding, Ints dilation,
                                            bool ceil_mode);
at::Tensor low_memory_max_pool_offsets_to_indices(const at::Tensor& self, const Ints& kernel_size,
                                                  const Ints& input_size, const Ints& stride,
                                                  const Ints& padding, Ints dilation);

}  // namespace fuseproof::prims
