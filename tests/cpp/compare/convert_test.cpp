#include "compare/convert.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "base/error.h"
#include "compare/expected.h"
#include "compare/pairs.h"

namespace fuseproof::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// All patterns of a dtype of at most 16 bits, in order.
std::vector<double> all_values(DType dtype) {
  const std::size_t size_bytes = dtype_size_bytes(dtype);
  const std::size_t count = std::size_t{1} << (8 * size_bytes);
  Bytes bytes(count * size_bytes);
  for (std::size_t i = 0; i < count; ++i) store_bits(bytes.data() + i * size_bytes, i, size_bytes);
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = value_at({dtype, bytes}, i);
  return values;
}

// The same as rounding_inputs() of make_expected.py.
std::vector<double> rounding_inputs() {
  Generator generator(20);
  std::vector<double> inputs;
  for (std::uint32_t i = 0; i < 20000; ++i) {
    auto pattern = static_cast<std::uint32_t>(generator.next());
    if (i % 2 != 0) pattern &= 0xffff8000;
    if (i % 4 != 0) pattern = (pattern & 0x8fffffff) | 0x30000000;
    inputs.push_back(std::bit_cast<float>(pattern));
  }
  return inputs;
}

TEST_CASE("every pattern of the small floats has the value that torch gives it") {
  for (const ExpectedConversions& row : kExpectedConversions) {
    CAPTURE(dtype_name(row.dtype));
    CHECK(digest(all_values(row.dtype)) == row.all_values);
  }
}

TEST_CASE("float32 numbers are rounded to the small floats as torch rounds them") {
  for (const ExpectedConversions& row : kExpectedConversions) {
    CAPTURE(dtype_name(row.dtype));
    std::vector<double> values = rounding_inputs();
    for (double& value : values) value = round_to(row.dtype, value);
    CHECK(digest(values) == row.rounded);
  }
}

// Sorted finite values; a pattern's parity in the lower neighbour decides ties.
std::vector<double> sorted_positive(DType dtype) {
  std::vector<double> values = all_values(dtype);
  std::erase_if(values, [](double value) { return !std::isfinite(value) || std::signbit(value); });
  std::sort(values.begin(), values.end());
  return values;
}

TEST_CASE("between two neighbours the middle goes to the even one, all else to the nearer one") {
  for (const ExpectedConversions& row : kExpectedConversions) {
    CAPTURE(dtype_name(row.dtype));
    const std::vector<double> values = sorted_positive(row.dtype);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      const double middle = (values[i] + values[i + 1]) / 2;
      const double even = values[i + i % 2];
      for (const double sign : {1.0, -1.0}) {
        if (round_to(row.dtype, sign * values[i]) != sign * values[i]) ++wrong;
        if (round_to(row.dtype, sign * middle) != sign * even) ++wrong;
        // A double beside the middle: by way of float32 it would become the middle.
        const double below = sign * std::nextafter(middle, 0.0);
        const double above = sign * std::nextafter(middle, kInf);
        if (round_to(row.dtype, below) != sign * values[i]) ++wrong;
        if (round_to(row.dtype, above) != sign * values[i + 1]) ++wrong;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a double is rounded once") {
  // Just above the middle of 1 and 1 + 2^-10; as a float32 it is the middle.
  CHECK(round_to(DType::kFloat16, 1 + 0x1p-11 + 0x1p-40) == 1 + 0x1p-10);
  CHECK(round_to(DType::kBFloat16, 1 + 0x1p-8 + 0x1p-40) == 1 + 0x1p-7);
  CHECK(round_to(DType::kFloat8E4M3FN, 1 + 0x1p-4 + 0x1p-40) == 1.125);
  CHECK(round_to(DType::kComplex32, 1 + 0x1p-11 + 0x1p-40) == 1 + 0x1p-10);
}

TEST_CASE("float32 rounding is the hardware's") {
  Generator generator(3);
  std::size_t wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    // Exponents from under float32's smallest subnormal to over its largest number.
    const std::uint64_t random = generator.next() << 32 | generator.next();
    const std::uint64_t exponent = 1023 - 155 + generator.next() % 290;
    std::uint64_t pattern = (random & 0x800fffffffffffff) | exponent << 52;
    if (i % 3 == 0) pattern &= ~((std::uint64_t{1} << 28) - 1);  // ties
    const double number = std::bit_cast<double>(pattern);
    const double rounded = round_to(DType::kFloat32, number);
    if (rounded != static_cast<double>(static_cast<float>(number))) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("too large a number becomes what torch makes of it") {
  CHECK(round_to(DType::kFloat16, 65519.999) == 65504.0);
  CHECK(round_to(DType::kFloat16, 65520.0) == kInf);
  CHECK(round_to(DType::kFloat16, -1e300) == -kInf);
  CHECK(round_to(DType::kBFloat16, std::numeric_limits<float>::max()) == kInf);
  CHECK(round_to(DType::kFloat32, 1e39) == kInf);
  CHECK(round_to(DType::kFloat8E5M2, 61439.0) == 57344.0);
  CHECK(round_to(DType::kFloat8E5M2, 61440.0) == kInf);
  CHECK(round_to(DType::kFloat8E4M3FN, 464.0) == 448.0);
  CHECK(round_to(DType::kFloat8E4M3FN, 465.0) == 448.0);
  CHECK(round_to(DType::kFloat8E4M3FN, -kInf) == -448.0);
  CHECK(std::isnan(round_to(DType::kFloat8E4M3FNUZ, 248.0)));
  CHECK(round_to(DType::kFloat8E4M3FNUZ, 247.999) == 240.0);
  CHECK(std::isnan(round_to(DType::kFloat8E5M2FNUZ, kInf)));
}

TEST_CASE("zeros, NaN and subnormal doubles are rounded") {
  CHECK(std::signbit(round_to(DType::kFloat16, -0.0)));
  CHECK(std::signbit(round_to(DType::kFloat8E5M2, -1e-300)));
  CHECK_FALSE(std::signbit(round_to(DType::kFloat8E4M3FNUZ, -0.0)));
  CHECK_FALSE(std::signbit(round_to(DType::kFloat8E5M2FNUZ, -1e-300)));
  CHECK(round_to(DType::kFloat32, 0x1p-1074) == 0.0);
  CHECK(round_to(DType::kFloat32, 0x1p-150) == 0.0);
  CHECK(round_to(DType::kFloat32, 0x1.8p-150) == 0x1p-149);
  CHECK(round_to(DType::kFloat64, 0x1p-1074) == 0x1p-1074);
  for (const DType dtype : {DType::kFloat8E4M3FN, DType::kFloat8E5M2, DType::kFloat8E4M3FNUZ,
                            DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    CHECK(std::isnan(round_to(dtype, std::nan(""))));
  }
}

TEST_CASE("integers are rounded to even and kept within their range") {
  CHECK(round_to(DType::kInt8, 2.5) == 2.0);
  CHECK(round_to(DType::kInt8, -1e9) == -128.0);
  CHECK(round_to(DType::kUint8, 255.5) == 255.0);
  CHECK(round_to(DType::kUint8, -3.0) == 0.0);
  CHECK(round_to(DType::kInt64, 1e300) == 0x1p63);  // 2^63 − 1, as the nearest double
  CHECK(round_to(DType::kInt64, -kInf) == -0x1p63);
  CHECK(round_to(DType::kUint64, 0x1p63) == 0x1p63);
  CHECK(round_to(DType::kInt32, std::nan("")) == 0.0);
  CHECK(round_to(DType::kBool, -0.5) == 1.0);
}

TEST_CASE("values of every kind of dtype are read") {
  const auto first = [](const auto& values, DType dtype) {
    const Bytes bytes = bytes_of(values);
    return value_at({dtype, bytes}, 0);
  };
  CHECK(first(std::vector<std::uint8_t>{200}, DType::kUint8) == 200.0);
  CHECK(first(std::vector<std::uint8_t>{200}, DType::kInt8) == -56.0);
  CHECK(first(std::vector<std::uint8_t>{200}, DType::kBool) == 1.0);
  CHECK(first(std::vector<std::uint16_t>{65535}, DType::kInt16) == -1.0);
  CHECK(first(std::vector<std::uint16_t>{65535}, DType::kUint16) == 65535.0);
  CHECK(first(std::vector<std::uint32_t>{0xffffffff}, DType::kUint32) == 4294967295.0);
  CHECK(first(std::vector<std::int64_t>{-5}, DType::kInt64) == -5.0);
  CHECK(first(std::vector<std::uint64_t>{std::uint64_t{1} << 63}, DType::kUint64) == 0x1p63);
  CHECK(first(std::vector<std::uint32_t>{1}, DType::kFloat32) == 0x1p-149);
  CHECK(first(std::vector<float>{-0.1f}, DType::kFloat32) == static_cast<double>(-0.1f));
  CHECK(first(std::vector<double>{0.1}, DType::kFloat64) == 0.1);
  const Bytes complex = bytes_of(std::vector<float>{1, 2, 3, 4});
  CHECK(value_at({DType::kComplex64, complex}, 3) == 4.0);
}

TEST_CASE("a part past the end is refused") {
  const Bytes bytes = bytes_of(std::vector<float>{1, 2});
  CHECK_THROWS_AS(value_at({DType::kFloat32, bytes}, 2), Error);
  CHECK(value_at({DType::kComplex64, bytes}, 1) == 2.0);
}

}  // namespace
}  // namespace fuseproof::test
