#include "compare/tolerance.h"

#include <limits>

#include <doctest/doctest.h>

#include "compare/pairs.h"

namespace fuseproof::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

MinimumTolerance tolerance_of(const std::vector<float>& x, const std::vector<float>& y) {
  const Pair pair = floats(x, y);
  return minimum_tolerance(pair.expected(), pair.actual());
}

TEST_CASE("the smallest tolerances are the largest distances") {
  const MinimumTolerance found = tolerance_of({100, 2, kNan, kInf}, {104, 3, kNan, kInf});
  CHECK(found.absolute == 4.0);
  CHECK(found.relative == 0.5);
}

TEST_CASE("equal tensors need no tolerance") {
  CHECK(tolerance_of({1, 0}, {1, -0.0f}).absolute == 0.0);
  CHECK(tolerance_of({1, 0}, {1, -0.0f}).relative == 0.0);
}

TEST_CASE("no tolerance helps against NaN, nor a relative one against zero") {
  CHECK(tolerance_of({kNan}, {1}).absolute == kInf);
  CHECK(tolerance_of({kInf}, {-kInf}).absolute == kInf);
  CHECK(tolerance_of({0}, {1}).absolute == 1.0);
  CHECK(tolerance_of({0}, {1}).relative == kInf);
}

}  // namespace
}  // namespace fuseproof::test
