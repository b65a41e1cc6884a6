#include "reference/prims.h"

#include <algorithm>

#include "reference/boxing.h"
#include "reference/prim_functions.h"

namespace fuseproof {
namespace {

// The prims whose Python implementation is torch's function of the given operator.
constexpr Prim kAtenPrims[] = {
    {"abs(Tensor self) -> Tensor", "aten::abs"},
    {"acos(Tensor self) -> Tensor", "aten::acos"},
    {"acosh(Tensor self) -> Tensor", "aten::acosh"},
    {"asin(Tensor self) -> Tensor", "aten::asin"},
    {"asinh(Tensor self) -> Tensor", "aten::asinh"},
    {"atan(Tensor self) -> Tensor", "aten::atan"},
    {"atanh(Tensor self) -> Tensor", "aten::atanh"},
    {"bessel_i0(Tensor self) -> Tensor", "aten::i0"},
    {"bessel_i0e(Tensor self) -> Tensor", "aten::special_i0e"},
    {"bessel_i1(Tensor self) -> Tensor", "aten::special_i1"},
    {"bessel_i1e(Tensor self) -> Tensor", "aten::special_i1e"},
    {"bessel_j0(Tensor self) -> Tensor", "aten::special_bessel_j0"},
    {"bessel_j1(Tensor self) -> Tensor", "aten::special_bessel_j1"},
    {"bitwise_not(Tensor self) -> Tensor", "aten::bitwise_not"},
    {"ceil(Tensor self) -> Tensor", "aten::ceil"},
    {"conj_physical(Tensor self) -> Tensor", "aten::_conj_physical"},
    {"cos(Tensor self) -> Tensor", "aten::cos"},
    {"cosh(Tensor self) -> Tensor", "aten::cosh"},
    {"digamma(Tensor self) -> Tensor", "aten::digamma"},
    {"erf(Tensor self) -> Tensor", "aten::erf"},
    {"erf_inv(Tensor self) -> Tensor", "aten::erfinv"},
    {"erfc(Tensor self) -> Tensor", "aten::erfc"},
    {"erfcx(Tensor self) -> Tensor", "aten::special_erfcx"},
    {"exp(Tensor self) -> Tensor", "aten::exp"},
    {"exp2(Tensor self) -> Tensor", "aten::exp2"},
    {"expm1(Tensor self) -> Tensor", "aten::expm1"},
    {"floor(Tensor self) -> Tensor", "aten::floor"},
    {"frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)", "aten::frexp", "Tensor"},
    {"imag(Tensor(a) self) -> Tensor(a)", "aten::imag"},
    {"isfinite(Tensor self) -> Tensor", "aten::isfinite"},
    {"lgamma(Tensor self) -> Tensor", "aten::lgamma"},
    {"log(Tensor self) -> Tensor", "aten::log"},
    {"log10(Tensor self) -> Tensor", "aten::log10"},
    {"log1p(Tensor self) -> Tensor", "aten::log1p"},
    {"log2(Tensor self) -> Tensor", "aten::log2"},
    {"ndtri(Tensor self) -> Tensor", "aten::special_ndtri"},
    {"neg(Tensor self) -> Tensor", "aten::neg"},
    {"real(Tensor(a) self) -> Tensor(a)", "aten::real"},
    {"reciprocal(Tensor self) -> Tensor", "aten::reciprocal"},
    {"round(Tensor self) -> Tensor", "aten::round"},
    {"rsqrt(Tensor self) -> Tensor", "aten::rsqrt"},
    {"sign(Tensor self) -> Tensor", "aten::sign"},
    {"signbit(Tensor self) -> Tensor", "aten::signbit"},
    {"sin(Tensor self) -> Tensor", "aten::sin"},
    {"sinh(Tensor self) -> Tensor", "aten::sinh"},
    {"spherical_bessel_j0(Tensor self) -> Tensor", "aten::special_spherical_bessel_j0"},
    {"sqrt(Tensor self) -> Tensor", "aten::sqrt"},
    {"tan(Tensor self) -> Tensor", "aten::tan"},
    {"tanh(Tensor self) -> Tensor", "aten::tanh"},
    {"trunc(Tensor self) -> Tensor", "aten::trunc"},
    {"add(Tensor self, Tensor other) -> Tensor", "aten::add", "Tensor"},
    {"atan2(Tensor self, Tensor other) -> Tensor", "aten::atan2"},
    {"bitwise_and(Tensor self, Tensor other) -> Tensor", "aten::bitwise_and", "Tensor"},
    {"bitwise_or(Tensor self, Tensor other) -> Tensor", "aten::bitwise_or", "Tensor"},
    {"bitwise_xor(Tensor self, Tensor other) -> Tensor", "aten::bitwise_xor", "Tensor"},
    {"eq(Tensor self, Tensor other) -> Tensor", "aten::eq", "Tensor"},
    {"fmax(Tensor self, Tensor other) -> Tensor", "aten::fmax"},
    {"fmin(Tensor self, Tensor other) -> Tensor", "aten::fmin"},
    {"fmod(Tensor self, Tensor other) -> Tensor", "aten::fmod", "Tensor"},
    {"gcd(Tensor self, Tensor other) -> Tensor", "aten::gcd"},
    {"ge(Tensor self, Tensor other) -> Tensor", "aten::ge", "Tensor"},
    {"gt(Tensor self, Tensor other) -> Tensor", "aten::gt", "Tensor"},
    {"hypot(Tensor self, Tensor other) -> Tensor", "aten::hypot"},
    {"igamma(Tensor self, Tensor other) -> Tensor", "aten::special_gammainc"},
    {"igammac(Tensor self, Tensor other) -> Tensor", "aten::special_gammaincc"},
    {"le(Tensor self, Tensor other) -> Tensor", "aten::le", "Tensor"},
    {"lt(Tensor self, Tensor other) -> Tensor", "aten::lt", "Tensor"},
    {"maximum(Tensor self, Tensor other) -> Tensor", "aten::maximum"},
    {"minimum(Tensor self, Tensor other) -> Tensor", "aten::minimum"},
    {"mul(Tensor self, Tensor other) -> Tensor", "aten::mul", "Tensor"},
    {"ne(Tensor self, Tensor other) -> Tensor", "aten::ne", "Tensor"},
    {"nextafter(Tensor self, Tensor other) -> Tensor", "aten::nextafter"},
    {"pow(Tensor self, Tensor other) -> Tensor", "aten::pow", "Tensor_Tensor"},
    {"remainder(Tensor self, Tensor other) -> Tensor", "aten::remainder", "Tensor"},
    {"shift_left(Tensor self, Tensor other) -> Tensor", "aten::bitwise_left_shift", "Tensor"},
    {"shift_right_arithmetic(Tensor self, Tensor other) -> Tensor", "aten::bitwise_right_shift",
     "Tensor"},
    {"sub(Tensor self, Tensor other) -> Tensor", "aten::sub", "Tensor"},
    {"zeta(Tensor self, Tensor other) -> Tensor", "aten::special_zeta"},
    {"as_strided(Tensor(a!) a, SymInt[] size, SymInt[] stride, SymInt storage_offset) -> "
     "Tensor(a!)",
     "aten::as_strided"},
    {"as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, "
     "SymInt storage_offset) -> Tensor",
     "aten::as_strided_scatter"},
    {"cat(Tensor[] tensors, int dim) -> Tensor", "aten::cat"},
    {"clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", "aten::clone"},
    {"conj(Tensor(a) a) -> Tensor(a)", "aten::conj"},
    {"fill(Tensor self, Scalar value) -> Tensor", "aten::fill", "Scalar"},
    {"item(Tensor a) -> Scalar", "aten::item"},
    {"rev(Tensor a, int[] dims) -> Tensor", "aten::flip"},
    {"squeeze(Tensor(a) a, int[] dimensions) -> Tensor(a)", "aten::squeeze", "dims"},
    {"transpose(Tensor(a) a, int[] permutation) -> Tensor(a)", "aten::permute"},
    {"view_of_dtype(Tensor(a) a, ScalarType dtype) -> Tensor(a)", "aten::view", "dtype"},
    {"where(Tensor pred, Tensor a, Tensor b) -> Tensor", "aten::where", "self"},
    {"_unsafe_index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, "
     "bool accumulate=False) -> Tensor(a!)",
     "aten::index_put_"},
};

constexpr Prim computed(std::string_view schema, PrimFunction function) {
  return {.schema = schema, .function = function};
}

constexpr Prim drawn(std::string_view schema, PrimFunction function) {
  return {.schema = schema, .function = function, .randomness = Randomness::kSeedArgument};
}

constexpr Prim kComputedPrims[] = {
    computed("broadcast_in_dim(Tensor(a) a, SymInt[] shape, int[] broadcast_dimensions)"
             " -> Tensor(a)",
             boxed<prims::broadcast_in_dim>),
    computed("collapse(Tensor a, int start, int end) -> Tensor", boxed<prims::collapse>),
    computed("collapse_view(Tensor(a) a, int start, int end) -> Tensor(a)",
             boxed<prims::collapse_view>),
    computed("split_dim(Tensor(a) a, int dim, SymInt outer_length) -> Tensor(a)",
             boxed<prims::split_dim>),
    computed("view_of(Tensor(a) a) -> Tensor(a)", boxed<prims::view_of>),
    computed("reshape(Tensor a, SymInt[] shape) -> Tensor", boxed<prims::reshape>),
    computed("copy_strided(Tensor a, SymInt[] stride) -> Tensor", boxed<prims::copy_strided>),
    computed("copy_to(Tensor(a!) a, Tensor b) -> Tensor(a!)", boxed<prims::copy_to>),
    computed("resize(Tensor(a!) a, SymInt[] shape) -> Tensor(a!)", boxed<prims::resize>),
    computed("inductor_force_stride_order(Tensor input, SymInt[] stride) -> Tensor",
             boxed<prims::inductor_force_stride_order>),
    computed("convert_element_type(Tensor a, ScalarType dtype) -> Tensor",
             boxed<prims::convert_element_type>),
    computed("device_put(Tensor a, Device device, bool non_blocking=False) -> Tensor",
             boxed<prims::device_put>),
    computed("cbrt(Tensor self) -> Tensor", boxed<prims::cbrt>),
    computed("div(Tensor self, Tensor other) -> Tensor", boxed<prims::div>),
    computed("fma(Tensor a, Tensor b, Tensor c) -> Tensor", boxed<prims::fma>),
    computed("sum(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor",
             boxed<prims::sum>),
    computed("prod(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor",
             boxed<prims::prod>),
    computed("amax(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor",
             boxed<prims::amax>),
    computed("amin(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor",
             boxed<prims::amin>),
    computed("xor_sum(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor",
             boxed<prims::xor_sum>),
    computed("var(Tensor inp, int[]? dims, float? correction=1, *, ScalarType? output_dtype=None)"
             " -> Tensor",
             boxed<prims::var>),
    computed("prepare_softmax_online(Tensor a, int dim) -> (Tensor, Tensor)",
             boxed<prims::prepare_softmax_online>),
    computed("inductor_cvt_e8m0_rceil(Tensor input) -> Tensor", boxed<prims::cvt_e8m0_rceil>),
    computed("iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device device, "
             "bool requires_grad) -> Tensor",
             boxed<prims::iota>),
    computed("empty(SymInt[] shape, *, ScalarType dtype, Device device, bool requires_grad)"
             " -> Tensor",
             boxed<prims::empty>),
    computed("empty_strided(SymInt[] shape, SymInt[] strides, *, ScalarType dtype, Device device, "
             "bool requires_grad) -> Tensor",
             boxed<prims::empty_strided>),
    computed("empty_permuted(SymInt[] shape, int[] physical_layout, *, ScalarType dtype, "
             "Device device, bool requires_grad) -> Tensor",
             boxed<prims::empty_permuted>),
    computed("full(SymInt[] shape, Scalar fill_value, *, ScalarType dtype, Device device, "
             "bool requires_grad) -> Tensor",
             boxed<prims::full>),
    computed("full_like(Tensor a, Scalar fill_value, *, ScalarType dtype, Device device, "
             "bool requires_grad) -> Tensor",
             boxed<prims::full_like>),
    computed("scalar_tensor(Scalar s, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
             boxed<prims::scalar_tensor>),
    computed("inductor_lookup_seed(Tensor seeds, int index) -> Tensor",
             boxed<prims::inductor_lookup_seed>),
    drawn("inductor_random(SymInt[] size, Tensor seed, str mode, *, ScalarType? align_dtype=None)"
          " -> Tensor",
          boxed<prims::inductor_random>),
    drawn("inductor_randint(SymInt low, SymInt high, SymInt[] size, Tensor seed) -> Tensor",
          boxed<prims::inductor_randint>),
    computed("_low_memory_max_pool_with_offsets(Tensor self, SymInt[] kernel_size, SymInt[] stride,"
             " SymInt[] padding, SymInt[] dilation, bool ceil_mode) -> (Tensor, Tensor)",
             boxed<prims::low_memory_max_pool_with_offsets>),
    computed("_low_memory_max_pool_offsets_to_indices(Tensor self, SymInt[] kernel_size, "
             "SymInt[] input_size, SymInt[] stride, SymInt[] padding, SymInt[] dilation) -> Tensor",
             boxed<prims::low_memory_max_pool_offsets_to_indices>),
};

std::string_view name_of(const Prim& prim) { return prim.schema.substr(0, prim.schema.find('(')); }

}  // namespace

const Prim* find_prim(std::string_view name) {
  const auto has_name = [&](const Prim& prim) { return name_of(prim) == name; };
  const auto aten = std::find_if(std::begin(kAtenPrims), std::end(kAtenPrims), has_name);
  if (aten != std::end(kAtenPrims)) return aten;
  const auto own = std::find_if(std::begin(kComputedPrims), std::end(kComputedPrims), has_name);
  return own != std::end(kComputedPrims) ? own : nullptr;
}

}  // namespace fuseproof
