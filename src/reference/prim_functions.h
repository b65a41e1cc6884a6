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
at::Tensor broadcast_in_dim(at::Tensor a, Ints shape, Ints broadcast_dimensions);
at::Tensor collapse(at::Tensor a, std::int64_t start, std::int64_t end);
at::Tensor collapse_view(at::Tensor a, std::int64_t start, std::int64_t end);
at::Tensor split_dim(at::Tensor a, std::int64_t dim, std::int64_t outer_length);
at::Tensor view_of(at::Tensor a);
at::Tensor reshape(at::Tensor a, Ints shape);
at::Tensor copy_strided(at::Tensor a, Ints stride);
at::Tensor copy_to(at::Tensor a, at::Tensor b);
at::Tensor resize(at::Tensor a, Ints shape);
at::Tensor inductor_force_stride_order(at::Tensor input, Ints stride);
at::Tensor convert_element_type(at::Tensor a, at::ScalarType dtype);
at::Tensor device_put(at::Tensor a, c10::Device device, bool non_blocking);

// prim_math.cpp
at::Tensor cbrt(at::Tensor self);
at::Tensor div(at::Tensor self, at::Tensor other);
at::Tensor fma(at::Tensor a, at::Tensor b, at::Tensor c);
at::Tensor sum(at::Tensor inp, OptionalInts dims, OptionalDType output_dtype);
at::Tensor prod(at::Tensor inp, OptionalInts dims, OptionalDType output_dtype);
at::Tensor amax(at::Tensor inp, OptionalInts dims, OptionalDType output_dtype);
at::Tensor amin(at::Tensor inp, OptionalInts dims, OptionalDType output_dtype);
at::Tensor xor_sum(at::Tensor inp, OptionalInts dims, OptionalDType output_dtype);
at::Tensor var(at::Tensor inp, OptionalInts dims, std::optional<double> correction,
               OptionalDType output_dtype);
TensorPair prepare_softmax_online(at::Tensor a, std::int64_t dim);
at::Tensor cvt_e8m0_rceil(at::Tensor input);

// prim_factories.cpp
at::Tensor iota(std::int64_t length, std::int64_t start, std::int64_t step, at::ScalarType dtype,
                c10::Device device, bool requires_grad);
at::Tensor empty(Ints shape, at::ScalarType dtype, c10::Device device, bool requires_grad);
at::Tensor empty_strided(Ints shape, Ints strides, at::ScalarType dtype, c10::Device device,
                         bool requires_grad);
at::Tensor empty_permuted(Ints shape, Ints physical_layout, at::ScalarType dtype,
                          c10::Device device, bool requires_grad);
at::Tensor full(Ints shape, at::Scalar fill_value, at::ScalarType dtype, c10::Device device,
                bool requires_grad);
at::Tensor full_like(at::Tensor a, at::Scalar fill_value, at::ScalarType dtype, c10::Device device,
                     bool requires_grad);
at::Tensor scalar_tensor(at::Scalar s, OptionalDType dtype, std::optional<c10::Device> device);
at::Tensor inductor_lookup_seed(at::Tensor seeds, std::int64_t index);
at::Tensor inductor_random(Ints size, at::Tensor seed, std::string mode, OptionalDType align_dtype);
at::Tensor inductor_randint(std::int64_t low, std::int64_t high, Ints size, at::Tensor seed);

// prim_pool.cpp
TensorPair low_memory_max_pool_with_offsets(at::Tensor self, Ints kernel_size, Ints stride,
                                            Ints padding, Ints dilation, bool ceil_mode);
at::Tensor low_memory_max_pool_offsets_to_indices(at::Tensor self, Ints kernel_size,
                                                  Ints input_size, Ints stride, Ints padding,
                                                  Ints dilation);

}  // namespace fuseproof::prims
