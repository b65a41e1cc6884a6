// ulp_distance() by hand; metrics_expected_test.cpp has it against NumPy.
#include "compare/ulp.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "base/error.h"
#include "compare/pairs.h"

namespace fuseproof::test {
namespace {

UlpDistance distance(const Pair& pair) { return ulp_distance(pair.expected(), pair.actual()); }

double distance_of_bits(DType dtype, std::uint64_t a, std::uint64_t b) {
  const std::size_t size_bytes = dtype_size_bytes(dtype);
  Pair pair{dtype, Bytes(size_bytes), Bytes(size_bytes)};
  store_bits(pair.x.data(), a, size_bytes);
  store_bits(pair.y.data(), b, size_bytes);
  return distance(pair).max;
}

TEST_CASE("neighbours are one last place apart") {
  CHECK(distance(floats({1.0f}, {std::nextafter(1.0f, 2.0f)})).max == 1.0);
  CHECK(distance(doubles({-1.5}, {std::nextafter(-1.5, -2.0)})).max == 1.0);
  CHECK(distance_of_bits(DType::kFloat16, 0x3c00, 0x3c01) == 1.0);
  CHECK(distance_of_bits(DType::kBFloat16, 0x3f80, 0x3f81) == 1.0);
  CHECK(distance_of_bits(DType::kFloat8E4M3FN, 0x38, 0x39) == 1.0);
  CHECK(distance_of_bits(DType::kFloat8E5M2FNUZ, 0x7e, 0x7f) == 1.0);
}

TEST_CASE("the last place is that of the larger magnitude") {
  // Below 1 the last place is half as wide.
  CHECK(distance(floats({1.0f}, {std::nextafter(1.0f, 0.0f)})).max == 0.5);
  // 3 and −1: 4 apart, in last places of 2^-22.
  CHECK(distance(floats({3.0f}, {-1.0f})).max == 4 * 0x1p22);
  CHECK(distance(floats({0.0f}, {1.0f})).max == 0x1p23);
  CHECK(distance(floats({1024.0f}, {1.0f})).max == 1023 * 0x1p13);
}

TEST_CASE("subnormals and zeros count in the smallest subnormal") {
  CHECK(distance_of_bits(DType::kFloat32, 1, 5) == 4.0);
  CHECK(distance_of_bits(DType::kFloat32, 0x80000001, 5) == 6.0);
  CHECK(distance_of_bits(DType::kFloat64, 0, 3) == 3.0);
  CHECK(distance_of_bits(DType::kFloat32, 0x007fffff, 0x00800000) == 1.0);  // the smallest normal
  CHECK(distance_of_bits(DType::kFloat16, 0x8000, 0x0000) == 0.0);
}

TEST_CASE("the ends of float64 are measured without overflow") {
  constexpr double kMax = std::numeric_limits<double>::max();
  // 2·(2^53 − 1) last places.
  CHECK(distance(doubles({kMax}, {-kMax})).max == 0x1p54 - 2);
  CHECK(distance(doubles({kMax}, {0x1p-1074})).max == 0x1p53 - 1);
}

TEST_CASE("what is not finite on both sides is left out") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const UlpDistance found = distance(floats({kNan, 1, kInf, 2}, {1, kInf, -kInf, 2.5f}));
  CHECK(found.max == 0x1p21);
  CHECK(found.index == 3);
  CHECK(distance_of_bits(DType::kFloat8E4M3FN, 0x7f, 0x00) == 0.0);
  CHECK(distance_of_bits(DType::kFloat8E4M3FNUZ, 0x80, 0x10) == 0.0);
}

TEST_CASE("the first of several largest distances is named") {
  std::vector<float> x(3000, 1.0f), y(3000, 1.0f);
  y[700] = y[1500] = 1.5f;
  y[20] = 1.25f;
  CHECK(distance(floats(x, y)).index == 700);
  CHECK(distance(floats({}, {})).max == 0.0);
}

TEST_CASE("integers have a last place of one, over their whole range") {
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
  CHECK(distance(pair_of<std::int64_t>(DType::kInt64, {kLow}, {kHigh})).max == 0x1p64);
  CHECK(distance(pair_of<std::int64_t>(DType::kInt64, {kHigh}, {kHigh - 1})).max == 1.0);
  CHECK(distance(pair_of<std::int8_t>(DType::kInt8, {-128}, {127})).max == 255.0);
  CHECK(distance(pair_of<std::uint8_t>(DType::kBool, {2}, {1})).max == 0.0);
}

TEST_CASE("distances of different counts are refused") {
  const Pair pair = floats({1}, {1, 2});
  CHECK_THROWS_AS(distance(pair), Error);
}

}  // namespace
}  // namespace fuseproof::test
