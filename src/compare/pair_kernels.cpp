#include "compare/pair_kernels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compare/pair_kernels.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first: it includes this file once for each target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fuseproof::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load_wide(D d, const float* source) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), source));
}

template <class D>
HWY_INLINE hn::Vec<D> load_wide(D d, const double* source) {
  return hn::LoadU(d, source);
}

// [begin, end) is a whole number of vectors.
template <class D, typename T>
HWY_INLINE void sum_range(D d, const T* x, const T* y, std::size_t begin, std::size_t end,
                          PairSums& sums) {
  if (begin == end) return;
  using V = hn::Vec<D>;
  V xx = hn::Zero(d), yy = xx, xy = xx, dd = xx, ad = xx, max_abs = xx;
  V x_min = hn::Set(d, sums.x_min), x_max = hn::Set(d, sums.x_max);
  V y_min = hn::Set(d, sums.y_min), y_max = hn::Set(d, sums.y_max);
  for (std::size_t i = begin; i < end; i += hn::Lanes(d)) {
    const V a = load_wide(d, x + i);
    const V b = load_wide(d, y + i);
    const V difference = hn::Sub(a, b);
    const V distance = hn::Abs(difference);
    xx = hn::MulAdd(a, a, xx);
    yy = hn::MulAdd(b, b, yy);
    xy = hn::MulAdd(a, b, xy);
    dd = hn::MulAdd(difference, difference, dd);
    ad = hn::Add(ad, distance);
    x_min = hn::Min(x_min, a);
    x_max = hn::Max(x_max, a);
    y_min = hn::Min(y_min, b);
    y_max = hn::Max(y_max, b);
    max_abs = hn::Max(max_abs, distance);
  }
  sums.xx += hn::GetLane(hn::SumOfLanes(d, xx));
  sums.yy += hn::GetLane(hn::SumOfLanes(d, yy));
  sums.xy += hn::GetLane(hn::SumOfLanes(d, xy));
  sums.dd += hn::GetLane(hn::SumOfLanes(d, dd));
  sums.ad += hn::GetLane(hn::SumOfLanes(d, ad));
  sums.x_min = hn::GetLane(hn::MinOfLanes(d, x_min));
  sums.x_max = hn::GetLane(hn::MaxOfLanes(d, x_max));
  sums.y_min = hn::GetLane(hn::MinOfLanes(d, y_min));
  sums.y_max = hn::GetLane(hn::MaxOfLanes(d, y_max));
  sums.max_abs = std::max(sums.max_abs, hn::GetLane(hn::MaxOfLanes(d, max_abs)));
}

template <typename T>
HWY_INLINE PairSums sum_block(const T* x, const T* y, std::size_t size) {
  const hn::ScalableTag<double> d;
  const std::size_t whole = size - size % hn::Lanes(d);
  PairSums sums;
  sum_range(d, x, y, 0, whole, sums);
  sum_range(hn::CappedTag<double, 1>(), x, y, whole, size, sums);
  return sums;
}

template <class V>
struct DivergenceTerms {
  V literal;     // p·log(p/q)
  V divergence;  // p·log(p/q) − p + q
};

// For p, q > 0 whose ratio is a normal number.
//
// With r = q·2^k next to p and s = (p − r)/(p + r): log(p/q) = k·log 2 + 2·atanh(s), where
// 2·atanh(s) = 2s + c, c = 2s·(s²/3 + s⁴/5 + …). Since 2ps − (p − r) = s·(p − r),
//   p·log(p/q) − p + q = s·(p − r) + p·c + p·k·log 2 + (q − r),
// in which, for k = 0, nothing cancels: the first term is the largest and the last two are zero. k
// comes from the difference of the bit patterns, a logarithm to within 0.09: hence |s| < 0.2, and
// ten terms of the series leave an error of 1e-15 of the last of them.
template <class D, class V = hn::Vec<D>>
HWY_INLINE DivergenceTerms<V> divergence_terms(D d, V p, V q) {
  const hn::RebindToSigned<D> di;
  const auto q_bits = hn::BitCast(di, q);
  const auto ratio_bits = hn::Sub(hn::BitCast(di, p), q_bits);
  const auto k = hn::ShiftRight<52>(hn::Add(ratio_bits, hn::Set(di, std::int64_t{1} << 51)));
  const V r = hn::BitCast(d, hn::Add(q_bits, hn::ShiftLeft<52>(k)));
  // k as a double: added to the bits of 1.5·2^52, whose last place is one.
  const V k_wide = hn::Sub(hn::BitCast(d, hn::Add(k, hn::Set(di, 0x4338000000000000))),
                           hn::Set(d, 6755399441055744.0));

  const V gap = hn::Sub(p, r);
  const V s = hn::Div(gap, hn::Add(p, r));
  const V z = hn::Mul(s, s);
  V series = hn::Set(d, 1.0 / 21);
  series = hn::MulAdd(series, z, hn::Set(d, 1.0 / 19));
  series = hn::MulAdd(series, z, hn::Set(d, 1.0 / 17));
  series = hn::MulAdd(series, z, hn::Set(d, 1.0 / 15));
  series = hn::MulAdd(series, z, hn::Set(d, 1.0 / 13));
  series = hn::MulAdd(series, z, hn::Set(d, 1.0 / 11));
  series = hn::MulAdd(series, z, hn::Set(d, 1.0 / 9));
  series = hn::MulAdd(series, z, hn::Set(d, 1.0 / 7));
  series = hn::MulAdd(series, z, hn::Set(d, 1.0 / 5));
  series = hn::MulAdd(series, z, hn::Set(d, 1.0 / 3));

  constexpr double kLog2 = 0.69314718055994530942;
  const V doubled = hn::Add(s, s);
  const V c = hn::Mul(hn::Mul(doubled, z), series);
  const V log_power = hn::Mul(k_wide, hn::Set(d, kLog2));
  const V near = hn::MulAdd(s, gap, hn::Mul(p, c));
  const V far = hn::MulAdd(p, log_power, hn::Sub(q, r));
  return {hn::Mul(p, hn::Add(log_power, hn::Add(doubled, c))), hn::Add(near, far)};
}

template <class D, typename T>
HWY_INLINE void divergence_range(D d, const T* x, const T* y, std::size_t begin, std::size_t end,
                                 const Normalisation& normalisation, DivergenceSums& sums) {
  if (begin == end) return;
  using V = hn::Vec<D>;
  const V x_min = hn::Set(d, normalisation.x_min), x_factor = hn::Set(d, normalisation.x_factor);
  const V y_min = hn::Set(d, normalisation.y_min), y_factor = hn::Set(d, normalisation.y_factor);
  const V floor = hn::Set(d, normalisation.floor);
  V p_sum = hn::Zero(d), difference = p_sum, literal = p_sum, divergence = p_sum;
  for (std::size_t i = begin; i < end; i += hn::Lanes(d)) {
    const V p = hn::Max(hn::Mul(hn::Sub(load_wide(d, x + i), x_min), x_factor), floor);
    const V q = hn::Max(hn::Mul(hn::Sub(load_wide(d, y + i), y_min), y_factor), floor);
    p_sum = hn::Add(p_sum, p);
    difference = hn::Add(difference, hn::Sub(p, q));
    const auto terms = divergence_terms(d, p, q);
    literal = hn::Add(literal, terms.literal);
    divergence = hn::Add(divergence, terms.divergence);
  }
  sums.p += hn::GetLane(hn::SumOfLanes(d, p_sum));
  sums.difference += hn::GetLane(hn::SumOfLanes(d, difference));
  sums.literal += hn::GetLane(hn::SumOfLanes(d, literal));
  sums.divergence += hn::GetLane(hn::SumOfLanes(d, divergence));
}

template <typename T>
HWY_INLINE DivergenceSums divergence_block(const T* x, const T* y, std::size_t size,
                                           const Normalisation& normalisation) {
  const hn::ScalableTag<double> d;
  const std::size_t whole = size - size % hn::Lanes(d);
  DivergenceSums sums;
  divergence_range(d, x, y, 0, whole, normalisation, sums);
  divergence_range(hn::CappedTag<double, 1>(), x, y, whole, size, normalisation, sums);
  return sums;
}

HWY_INLINE std::uint32_t float32_bits_of_float16(std::uint32_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t shifted = (half & 0x7fffu) << 13;
  // Exponents are rebiased from 15 to 127; that of Inf and NaN goes to the top.
  const std::uint32_t rebias = shifted >= 0x0f800000u ? 0x70000000u : 0x38000000u;
  // A subnormal is its fraction times 2^-24: put under the hidden bit of 2^-14, which is then taken
  // away. No float32 subnormal arises, so that flush-to-zero cannot change it.
  constexpr std::uint32_t kTwoToMinus14 = 0x38800000u;
  float magnitude, offset;
  const std::uint32_t lifted = shifted + kTwoToMinus14;
  std::memcpy(&magnitude, &lifted, 4);
  std::memcpy(&offset, &kTwoToMinus14, 4);
  const float subnormal = magnitude - offset;
  std::uint32_t subnormal_bits;
  std::memcpy(&subnormal_bits, &subnormal, 4);
  return sign | (shifted < 0x00800000u ? subnormal_bits : shifted + rebias);
}

// Plain loops: the compiler vectorises them for each target.
void widen_float16_block(const std::byte* source, float* target, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    std::uint16_t half;
    std::memcpy(&half, source + 2 * i, 2);
    const std::uint32_t bits = float32_bits_of_float16(half);
    std::memcpy(target + i, &bits, 4);
  }
}

void widen_bfloat16_block(const std::byte* source, float* target, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    std::uint16_t half;
    std::memcpy(&half, source + 2 * i, 2);
    const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
    std::memcpy(target + i, &bits, 4);
  }
}

PairSums sum_float32(const float* x, const float* y, std::size_t size) {
  return sum_block(x, y, size);
}

PairSums sum_float64(const double* x, const double* y, std::size_t size) {
  return sum_block(x, y, size);
}

DivergenceSums divergence_float32(const float* x, const float* y, std::size_t size,
                                  const Normalisation& normalisation) {
  return divergence_block(x, y, size, normalisation);
}

DivergenceSums divergence_float64(const double* x, const double* y, std::size_t size,
                                  const Normalisation& normalisation) {
  return divergence_block(x, y, size, normalisation);
}

}  // namespace
}  // namespace fuseproof::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fuseproof {
namespace {

HWY_EXPORT(sum_float32);
HWY_EXPORT(sum_float64);
HWY_EXPORT(divergence_float32);
HWY_EXPORT(divergence_float64);
HWY_EXPORT(widen_float16_block);
HWY_EXPORT(widen_bfloat16_block);

}  // namespace

void PairSums::add(const PairSums& other) {
  xx += other.xx;
  yy += other.yy;
  xy += other.xy;
  dd += other.dd;
  ad += other.ad;
  x_min = std::min(x_min, other.x_min);
  x_max = std::max(x_max, other.x_max);
  y_min = std::min(y_min, other.y_min);
  y_max = std::max(y_max, other.y_max);
  max_abs = std::max(max_abs, other.max_abs);
}

void DivergenceSums::add(const DivergenceSums& other) {
  p += other.p;
  difference += other.difference;
  literal += other.literal;
  divergence += other.divergence;
}

PairSums pair_sums(const float* x, const float* y, std::size_t size) {
  return HWY_DYNAMIC_DISPATCH(sum_float32)(x, y, size);
}

PairSums pair_sums(const double* x, const double* y, std::size_t size) {
  return HWY_DYNAMIC_DISPATCH(sum_float64)(x, y, size);
}

DivergenceSums divergence_sums(const float* x, const float* y, std::size_t size,
                               const Normalisation& normalisation) {
  return HWY_DYNAMIC_DISPATCH(divergence_float32)(x, y, size, normalisation);
}

DivergenceSums divergence_sums(const double* x, const double* y, std::size_t size,
                               const Normalisation& normalisation) {
  return HWY_DYNAMIC_DISPATCH(divergence_float64)(x, y, size, normalisation);
}

void widen_float16(const std::byte* source, float* target, std::size_t size) {
  HWY_DYNAMIC_DISPATCH(widen_float16_block)(source, target, size);
}

void widen_bfloat16(const std::byte* source, float* target, std::size_t size) {
  HWY_DYNAMIC_DISPATCH(widen_bfloat16_block)(source, target, size);
}

}  // namespace fuseproof
#endif  // HWY_ONCE
