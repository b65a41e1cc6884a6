#include "compare/positions.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "base/error.h"
#include "compare/convert.h"
#include "compare/pairs.h"
#include "compare/targets.h"

namespace fuseproof::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Positions compare(const Pair& pair) { return compare_positions(pair.expected(), pair.actual()); }

void check_equal(const PositionCount& found, const PositionCount& expected) {
  CHECK(found.count == expected.count);
  if (expected.count > 0) CHECK(found.first == expected.first);
}

void check_equal(const Positions& found, const Positions& expected) {
  check_equal(found.nan, expected.nan);
  check_equal(found.inf, expected.inf);
  check_equal(found.zero_sign, expected.zero_sign);
  check_equal(found.value, expected.value);
}

void note(PositionCount& position, std::uint64_t index) {
  if (position.count++ == 0) position.first = index;
}

// The definitions, on doubles; value_at() has a test of its own against torch.
Positions by_definition(const Packed& a, const Packed& b, std::size_t parts) {
  Positions expected;
  for (std::size_t i = 0; i < parts; ++i) {
    const double x = value_at(a, i);
    const double y = value_at(b, i);
    if (std::isnan(x) || std::isnan(y)) {
      if (std::isnan(x) != std::isnan(y)) note(expected.nan, i);
    } else if (std::isinf(x) || std::isinf(y)) {
      if (x != y) note(expected.inf, i);
    } else if (x != y) {
      note(expected.value, i);
    } else if (std::signbit(x) != std::signbit(y)) {
      note(expected.zero_sign, i);
    }
  }
  return expected;
}

TEST_CASE("each kind of difference is counted once, with its first place") {
  const Positions found = compare(floats({1, kNan, kInf, 0.0f, 2, kInf, -0.0f, kNan, 5, kNan, 7},
                                         {1, kNan, kInf, -0.0f, 3, -kInf, 0.0f, 1, kNan, kInf, 8}));
  check_equal(found.nan, {3, 7});
  check_equal(found.inf, {1, 5});
  check_equal(found.zero_sign, {2, 3});
  check_equal(found.value, {2, 4});
}

TEST_CASE("an Inf against a finite number is an Inf, not a value") {
  const Positions found = compare(floats({1, kInf}, {-kInf, 0}));
  check_equal(found.inf, {2, 0});
  check_equal(found.value, {});
}

TEST_CASE("NaNs of any sign and payload are alike") {
  const Pair pair = pair_of<std::uint32_t>(DType::kFloat32, {0x7fc00000, 0xffc00001, 0x7f800001},
                                           {0xffc00000, 0x7fffffff, 0x7fc12345});
  check_equal(compare(pair), {});
}

TEST_CASE("two different subnormals are two different values") {
  const Pair pair = pair_of<std::uint32_t>(DType::kFloat32, {1, 2, 0}, {2, 2, 1});
  check_equal(compare(pair).value, {2, 0});
}

TEST_CASE("empty tensors do not differ") { check_equal(compare(floats({}, {})), {}); }

TEST_CASE("integers and bools differ by value only") {
  check_equal(compare(pair_of<std::int64_t>(DType::kInt64, {1, -1, 7}, {1, 1, 8})).value, {2, 1});
  const Positions bytes = compare(pair_of<std::uint8_t>(DType::kUint8, {0, 0x80}, {0, 0}));
  check_equal(bytes.value, {1, 1});
  check_equal(bytes.zero_sign, {});
  // 1 and 2 are both true.
  check_equal(compare(pair_of<std::uint8_t>(DType::kBool, {1, 0, 1}, {2, 1, 1})).value, {1, 1});
}

TEST_CASE("every pair of float8 patterns follows the definitions, on every target") {
  for (const DType dtype :
       {DType::kFloat8E4M3FN, DType::kFloat8E5M2, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2FNUZ}) {
    CAPTURE(dtype_name(dtype));
    Pair pair{dtype, Bytes(1 << 16), Bytes(1 << 16)};
    for (std::size_t i = 0; i < pair.x.size(); ++i) {
      pair.x[i] = static_cast<std::byte>(i >> 8);
      pair.y[i] = static_cast<std::byte>(i);
    }
    const Positions expected = by_definition(pair.expected(), pair.actual(), pair.x.size());
    CHECK(expected.value.count > 0);
    for_each_target([&](const std::string& target) {
      CAPTURE(target);
      check_equal(compare(pair), expected);
    });
  }
}

// Patterns in which zeros, Infs, NaNs and equal numbers are frequent.
Pair special_pair(DType dtype, std::size_t parts) {
  constexpr std::uint64_t kFields[] = {0, 0, 0x7c00, 0x7f80, 0x7ff0, 0x7e00, 0x3f80, 0x3c01};
  const std::size_t size_bytes = dtype_size_bytes(dtype_part(dtype));
  Pair pair{dtype, Bytes(parts * size_bytes), Bytes(parts * size_bytes)};
  Generator generator(parts);
  for (std::size_t i = 0; i < parts; ++i) {
    for (Bytes* side : {&pair.x, &pair.y}) {
      const std::uint64_t random = generator.next();
      const std::uint64_t pattern =
          kFields[random % 8] | (random & 0x100 ? 0x8000 : 0) | (random & 0xc00 ? 0 : random >> 30);
      store_bits(side->data() + i * size_bytes, pattern << (8 * size_bytes - 16), size_bytes);
    }
  }
  return pair;
}

TEST_CASE("wider floats follow the definitions at every length, on every target") {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64,
                            DType::kComplex32, DType::kComplex64, DType::kComplex128}) {
    CAPTURE(dtype_name(dtype));
    for (const std::size_t parts : {2u, 16u, 18u, 1022u, 1024u, 1026u, 5002u}) {
      CAPTURE(parts);
      const Pair pair = special_pair(dtype, parts);
      const Positions expected = by_definition(pair.expected(), pair.actual(), parts);
      for_each_target([&](const std::string& target) {
        CAPTURE(target);
        check_equal(compare(pair), expected);
      });
    }
  }
}

TEST_CASE("counts do not overflow when every element of a large tensor differs") {
  const std::size_t size = 200001;
  const Pair bytes{DType::kUint8, Bytes(size, std::byte{1}), Bytes(size, std::byte{2})};
  check_equal(compare(bytes).value, {size, 0});
  const Pair halves = pair_of(DType::kFloat16, std::vector<std::uint16_t>(size, 0x8000),
                              std::vector<std::uint16_t>(size, 0));
  check_equal(compare(halves).zero_sign, {size, 0});
}

TEST_CASE("positions of different dtypes are refused") {
  const Pair pair = floats({1}, {1});
  CHECK_THROWS_AS(compare_positions(pair.expected(), {DType::kInt32, pair.y}), Error);
}

}  // namespace
}  // namespace fuseproof::test
