// The bit patterns of every dtype: which are NaN, Inf or finite, what number they stand for, how
// wide their last place is, and which pattern is nearest to a double.
//
// All of it is integer arithmetic on the bits, so that neither flush-to-zero nor
// denormals-are-zero, which a program may have switched on, changes an answer, and so that a double
// is rounded once (by way of float32 it would be rounded twice).
//
// float8 (OCP and Graphcore/AMD variants, as in torch): e4m3fn has no infinities, and its NaN is
// the pattern of all ones; the fnuz variants have neither infinities nor a negative zero, and their
// one NaN stands at 0x80. A number too large becomes what torch 2.13 makes of it: Inf where there
// is one, the largest finite number in e4m3fn (of Inf too), NaN in the fnuz variants.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/dtype.h"

namespace fuseproof::formats {

enum class Specials : std::uint8_t { kIeee, kFn, kFnuz };

// 2^exponent for exponents from -1074 to 1023.
constexpr double power_of_two(int exponent) {
  if (exponent < -1022) return std::bit_cast<double>(std::uint64_t{1} << (exponent + 1074));
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

template <typename BitsType, int kExponentBits, int kFractionBits, Specials kSpecials>
struct Float {
  using Bits = BitsType;
  static constexpr bool kIsInteger = false;
  static constexpr int kWidth = 8 * sizeof(Bits);
  static constexpr int kFraction = kFractionBits;
  static constexpr int kBias =
      (1 << (kExponentBits - 1)) - 1 + (kSpecials == Specials::kFnuz ? 1 : 0);
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (kWidth - 1));
  static constexpr Bits kMagnitude = static_cast<Bits>(kSign - 1);
  static constexpr Bits kInfinity =  // kIeee only
      static_cast<Bits>(((Bits{1} << kExponentBits) - 1) << kFractionBits);
  static constexpr Bits kNan = kSpecials == Specials::kIeee
                                   ? static_cast<Bits>(kInfinity | (Bits{1} << (kFractionBits - 1)))
                               : kSpecials == Specials::kFn ? kMagnitude
                                                            : kSign;
  static constexpr Bits kLargest = kSpecials == Specials::kIeee ? static_cast<Bits>(kInfinity - 1)
                                   : kSpecials == Specials::kFn ? static_cast<Bits>(kMagnitude - 1)
                                                                : kMagnitude;

  static constexpr Bits magnitude(Bits bits) { return static_cast<Bits>(bits & kMagnitude); }

  static constexpr bool is_nan(Bits bits) {
    if constexpr (kSpecials == Specials::kIeee) return magnitude(bits) > kInfinity;
    if constexpr (kSpecials == Specials::kFn) return magnitude(bits) == kMagnitude;
    return bits == kSign;
  }

  static constexpr bool is_inf(Bits bits) {
    if constexpr (kSpecials == Specials::kIeee) return magnitude(bits) == kInfinity;
    return false;
  }

  static constexpr bool is_finite(Bits bits) {
    if constexpr (kSpecials == Specials::kFnuz) return bits != kSign;
    return magnitude(bits) <= kLargest;
  }

  // The biased exponent; 1 for zero and subnormals, whose last place is that of exponent 1.
  static constexpr int exponent(Bits bits) {
    return std::max(1, static_cast<int>(magnitude(bits) >> kFractionBits));
  }

  // The significand as an integer, in units of the last place.
  static constexpr Bits significand(Bits bits) {
    return static_cast<Bits>(magnitude(bits) -
                             (static_cast<Bits>(exponent(bits) - 1) << kFractionBits));
  }

  // The weight of the last place of a finite number.
  static constexpr double last_place(Bits bits) {
    return power_of_two(exponent(bits) - kBias - kFractionBits);
  }

  static constexpr double value(Bits bits) {
    if constexpr (kWidth == 64) {
      return std::bit_cast<double>(bits);
    } else {
      if (is_nan(bits)) return std::numeric_limits<double>::quiet_NaN();
      const double sign = (bits & kSign) != 0 ? -1.0 : 1.0;
      if (is_inf(bits)) return sign * std::numeric_limits<double>::infinity();
      return sign * static_cast<double>(significand(bits)) * last_place(bits);
    }
  }

  // The nearest number of this format; of two equally near ones, the one with an even last place.
  static constexpr Bits round(double number) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(number);
    if constexpr (kWidth == 64) {
      return bits;
    } else {
      constexpr std::uint64_t kDoubleInfinity = std::uint64_t{0x7ff} << 52;
      const std::uint64_t wide = bits & ~(std::uint64_t{1} << 63);
      if (wide > kDoubleInfinity) return kNan;
      const Bits sign = (bits >> 63) != 0 ? kSign : Bits{0};
      const int target = static_cast<int>(wide >> 52) - 1023 + kBias;
      if (target >= 1 << kExponentBits) return overflow(sign);
      // A shift of 54 or more moves all 53 bits of the significand below half of the last place.
      const int shift = std::min(54, 52 - kFractionBits + std::max(0, 1 - target));
      const std::uint64_t whole =
          (wide & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
      const std::uint64_t rest = whole & ((std::uint64_t{1} << shift) - 1);
      const std::uint64_t half = std::uint64_t{1} << (shift - 1);
      std::uint64_t kept = whole >> shift;
      if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
      // The hidden bit, and a carry out of the fraction, add one to the exponent.
      kept += static_cast<std::uint64_t>(std::max(0, target - 1)) << kFractionBits;
      if (kept > kLargest) return overflow(sign);
      if (kSpecials == Specials::kFnuz && kept == 0) return 0;
      return static_cast<Bits>(kept | sign);
    }
  }

 private:
  static constexpr Bits overflow(Bits sign) {
    if constexpr (kSpecials == Specials::kIeee) return static_cast<Bits>(kInfinity | sign);
    if constexpr (kSpecials == Specials::kFn) return static_cast<Bits>(kLargest | sign);
    return kNan;
  }
};

// Integers seen as numbers whose last place is one.
template <typename T>
struct Integer {
  using Bits = T;
  static constexpr bool kIsInteger = true;

  static constexpr bool is_nan(Bits) { return false; }
  static constexpr bool is_inf(Bits) { return false; }
  static constexpr bool is_finite(Bits) { return true; }
  static constexpr double last_place(Bits) { return 1.0; }
  static constexpr double value(Bits bits) { return static_cast<double>(bits); }

  // The nearest integer, ties to even, kept within the range; 0 for NaN.
  static Bits round(double number) {
    if (std::isnan(number)) return 0;
    const double nearest = std::nearbyint(number);
    // The upper limit may have no double of its own; the next double above is out of range.
    constexpr double kPastLargest =
        2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
    if (nearest >= kPastLargest) return std::numeric_limits<T>::max();
    if (nearest < static_cast<double>(std::numeric_limits<T>::min())) {
      return std::numeric_limits<T>::min();
    }
    return static_cast<T>(nearest);
  }
};

// A byte that is true when it is not zero.
struct Bool : Integer<std::uint8_t> {
  static constexpr double value(Bits bits) { return bits != 0 ? 1.0 : 0.0; }
  static Bits round(double number) { return number != 0 ? 1 : 0; }
};

using Float8E4M3FN = Float<std::uint8_t, 4, 3, Specials::kFn>;
using Float8E5M2 = Float<std::uint8_t, 5, 2, Specials::kIeee>;
using Float8E4M3FNUZ = Float<std::uint8_t, 4, 3, Specials::kFnuz>;
using Float8E5M2FNUZ = Float<std::uint8_t, 5, 2, Specials::kFnuz>;
using Float16 = Float<std::uint16_t, 5, 10, Specials::kIeee>;
using BFloat16 = Float<std::uint16_t, 8, 7, Specials::kIeee>;
using Float32 = Float<std::uint32_t, 8, 23, Specials::kIeee>;
using Float64 = Float<std::uint64_t, 11, 52, Specials::kIeee>;

template <class Format>
typename Format::Bits load(const std::byte* parts, std::size_t index) {
  typename Format::Bits bits;
  std::memcpy(&bits, parts + index * sizeof(bits), sizeof(bits));
  return bits;
}

// Calls visitor(Format{}) with the format of the dtype's parts.
template <class Visitor>
auto visit(DType dtype, const Visitor& visitor) {
  switch (dtype) {
    case DType::kBool: return visitor(Bool{});
    case DType::kUint8: return visitor(Integer<std::uint8_t>{});
    case DType::kInt8: return visitor(Integer<std::int8_t>{});
    case DType::kUint16: return visitor(Integer<std::uint16_t>{});
    case DType::kInt16: return visitor(Integer<std::int16_t>{});
    case DType::kUint32: return visitor(Integer<std::uint32_t>{});
    case DType::kInt32: return visitor(Integer<std::int32_t>{});
    case DType::kUint64: return visitor(Integer<std::uint64_t>{});
    case DType::kInt64: return visitor(Integer<std::int64_t>{});
    case DType::kFloat8E4M3FN: return visitor(Float8E4M3FN{});
    case DType::kFloat8E5M2: return visitor(Float8E5M2{});
    case DType::kFloat8E4M3FNUZ: return visitor(Float8E4M3FNUZ{});
    case DType::kFloat8E5M2FNUZ: return visitor(Float8E5M2FNUZ{});
    case DType::kFloat16:
    case DType::kComplex32: return visitor(Float16{});
    case DType::kBFloat16: return visitor(BFloat16{});
    case DType::kFloat32:
    case DType::kComplex64: return visitor(Float32{});
    case DType::kFloat64:
    case DType::kComplex128: break;
  }
  return visitor(Float64{});
}

}  // namespace fuseproof::formats
