#include "compare/ulp.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "compare/formats.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compare/ulp.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first: it includes this file once for each target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fuseproof::HWY_NAMESPACE {
namespace {

constexpr std::size_t kUlpBlock = 512;

// 2^-places, for places from 0; never less than 2^-1022, where nothing is left that counts.
HWY_INLINE double shifted_down(int places) {
  return std::bit_cast<double>(static_cast<std::int64_t>(1023 - std::min(places, 1022)) << 52);
}

// The significands, as integers in units of their own last places, are brought to the larger
// exponent and subtracted: exact in float64, without float64's own overflow and subnormals. No
// branches: the compiler vectorises the loop over a block.
template <class Format>
HWY_INLINE double float_distance(typename Format::Bits a, typename Format::Bits b) {
  // Narrow significands convert to double as 32-bit integers, which every SIMD target can do.
  using Wide = std::conditional_t<sizeof(a) == 8, std::int64_t, std::int32_t>;
  const int a_exponent = Format::exponent(a);
  const int b_exponent = Format::exponent(b);
  const int larger = std::max(a_exponent, b_exponent);
  const auto a_units = static_cast<Wide>(Format::significand(a));
  const auto b_magnitude = static_cast<Wide>(Format::significand(b));
  const Wide b_units = ((a ^ b) & Format::kSign) != 0 ? -b_magnitude : b_magnitude;
  const double gap = static_cast<double>(a_units) * shifted_down(larger - a_exponent) -
                     static_cast<double>(b_units) * shifted_down(larger - b_exponent);
  // As integers: a select between doubles would keep the loop from being vectorised.
  constexpr std::int64_t kMagnitude = std::numeric_limits<std::int64_t>::max();
  const std::int64_t kept = -static_cast<std::int64_t>(Format::is_finite(a) & Format::is_finite(b));
  return std::bit_cast<double>(std::bit_cast<std::int64_t>(gap) & kMagnitude & kept);
}

template <class Format>
HWY_INLINE double distance(typename Format::Bits a, typename Format::Bits b) {
  if constexpr (std::is_same_v<Format, formats::Bool>) {
    return (a != 0) != (b != 0) ? 1.0 : 0.0;
  } else if constexpr (Format::kIsInteger) {
    // In 64 unsigned bits, where the difference of any two integers is exact.
    const auto low = static_cast<std::uint64_t>(std::min(a, b));
    const auto high = static_cast<std::uint64_t>(std::max(a, b));
    return static_cast<double>(high - low);
  } else {
    return float_distance<Format>(a, b);
  }
}

// Distances are not negative, so that their bit patterns have their order: as integers they have a
// maximum that the compiler vectorises without assumptions about NaN.
using DistanceBits = std::array<std::int64_t, kUlpBlock>;

template <class Format>
std::int64_t distances_of_block(const std::byte* a, const std::byte* b, std::size_t size,
                                DistanceBits& distances) {
  for (std::size_t i = 0; i < size; ++i) {
    distances[i] = std::bit_cast<std::int64_t>(
        distance<Format>(formats::load<Format>(a, i), formats::load<Format>(b, i)));
  }
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < size; ++i) largest = std::max(largest, distances[i]);
  return largest;
}

template <class Format>
UlpDistance largest_distance(const std::byte* a, const std::byte* b, std::size_t count) {
  constexpr std::size_t kSize = sizeof(typename Format::Bits);
  std::int64_t largest = 0;
  std::uint64_t index = 0;
  DistanceBits distances;
  for (std::size_t begin = 0; begin < count; begin += kUlpBlock) {
    const std::size_t size = std::min(kUlpBlock, count - begin);
    const std::byte* a_block = a + begin * kSize;
    const std::byte* b_block = b + begin * kSize;
    if (std::memcmp(a_block, b_block, size * kSize) == 0) continue;
    const std::int64_t in_block = distances_of_block<Format>(a_block, b_block, size, distances);
    if (in_block <= largest) continue;
    largest = in_block;
    index = begin + static_cast<std::uint64_t>(
                        std::find(distances.begin(), distances.begin() + size, in_block) -
                        distances.begin());
  }
  return {std::bit_cast<double>(largest), index};
}

struct DistanceVisitor {
  const std::byte* a;
  const std::byte* b;
  std::size_t count;

  template <class Format>
  UlpDistance operator()(Format) const {
    return largest_distance<Format>(a, b, count);
  }
};

UlpDistance ulp_distance_here(DType dtype, const std::byte* a, const std::byte* b,
                              std::size_t count) {
  return formats::visit(dtype, DistanceVisitor{a, b, count});
}

}  // namespace
}  // namespace fuseproof::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fuseproof {
namespace {

HWY_EXPORT(ulp_distance_here);

}  // namespace

UlpDistance ulp_distance(const Packed& a, const Packed& b) {
  require_comparable(a, b);
  return HWY_DYNAMIC_DISPATCH(ulp_distance_here)(a.dtype, a.bytes.data(), b.bytes.data(),
                                                 part_count(a));
}

}  // namespace fuseproof
#endif  // HWY_ONCE
