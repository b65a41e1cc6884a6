#include "scripts/value_range.h"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace fuseproof {
namespace {

template <typename T>
std::optional<std::pair<double, double>> range(DType dtype, const std::vector<T>& values) {
  const Layout layout{dtype, {static_cast<std::int64_t>(values.size())}, {1}, 0};
  const auto found = value_range(std::as_bytes(std::span(values)), layout);
  if (!found) return std::nullopt;
  const auto number = [](const Number& value) {
    return std::visit([](auto part) { return static_cast<double>(part); }, value);
  };
  return std::pair(number(found->low), number(found->high));
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("integers keep to what was there, an index above all") {
  CHECK(range<std::int64_t>(DType::kInt64, {5, -2, 7}) == std::pair(-2.0, 7.0));
  CHECK(range<std::uint8_t>(DType::kUint8, {200, 3}) == std::pair(3.0, 200.0));
  CHECK(range<std::int8_t>(DType::kInt8, {-128, 127}) == std::pair(-128.0, 127.0));
  CHECK(range<std::int32_t>(DType::kInt32, {4}) == std::pair(4.0, 4.0));
}

TEST_CASE("floats keep to it where none is negative") {
  CHECK(range<float>(DType::kFloat32, {0.5F, 0, 2}) == std::pair(0.0, 2.0));
  CHECK(range<float>(DType::kFloat32, {0.5F, kNan, kInfinity, 2}) == std::pair(0.5, 2.0));
  CHECK_FALSE(range<float>(DType::kFloat32, {0.5F, -1}));
  CHECK(range<float>(DType::kFloat32, {1, 1}) == std::pair(1.0, 1.0));  // a fresh variance
  CHECK(range<float>(DType::kFloat32, {0, 0}) == std::pair(0.0, 1.0));  // a fresh second moment
  CHECK_FALSE(range<float>(DType::kFloat32, {kNan, kInfinity}));
}

TEST_CASE("there is nothing to keep to without elements, among bools and among complex numbers") {
  CHECK_FALSE(range<std::int64_t>(DType::kInt64, {}));
  CHECK_FALSE(range<std::uint8_t>(DType::kBool, {0, 1}));
  CHECK_FALSE(range<float>(DType::kComplex64, {1, 2}));  // one element and a half: never read
}

TEST_CASE("only what the view shows counts") {
  const std::vector<std::int64_t> storage = {100, 1, -100, 2, 100};
  const Layout every_second{DType::kInt64, {2}, {2}, 1};
  const auto found = value_range(std::as_bytes(std::span(storage)), every_second);
  REQUIRE(found);
  CHECK(std::get<std::int64_t>(found->low) == 1);
  CHECK(std::get<std::int64_t>(found->high) == 2);
}

}  // namespace fuseproof
