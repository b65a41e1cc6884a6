// compare_errors() on numbers worked out by hand.
#include "compare/errors.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "base/error.h"
#include "compare/pairs.h"

namespace fuseproof::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfF = std::numeric_limits<float>::infinity();
constexpr float kStep = 0x1p-23f;  // float32's last place from 1 to 2

Errors errors_of(const std::vector<float>& kernel, const std::vector<float>& eager,
                 const std::vector<double>& exact, const std::vector<double>& envelope = {},
                 const ErrorTolerance& tolerance = {}) {
  const Pair pair = floats(kernel, eager);
  return compare_errors(pair.expected(), pair.actual(), exact, envelope, tolerance);
}

TEST_CASE("errors are counted from the rounded exact value") {
  // 1 + a third of a last place rounds to 1: eager is exact, the kernel two last places off.
  const Errors found = errors_of({1 + 2 * kStep, 4}, {1, 4}, {1 + 0x1p-23 / 3, 4});
  CHECK(found.kernel.max_abs == 2 * kStep);
  CHECK(found.kernel.max_ulp == 2.0);
  CHECK(found.kernel.rms == std::sqrt(2.0) * kStep);
  CHECK(found.eager.max_abs == 0.0);
  CHECK(found.eager.max_ulp == 0.0);
  CHECK(found.violations == 0);
  CHECK(found.eager_violations == 0);
}

TEST_CASE("the largest absolute and the largest relative error may stand apart") {
  const Errors found = errors_of({1 + 3 * kStep, 1024 + 2048 * kStep}, {1, 1024}, {1, 1024});
  CHECK(found.kernel.max_ulp == 3.0);
  CHECK(found.kernel.max_ulp_index == 0);
  CHECK(found.kernel.max_abs == 2048 * kStep);
  CHECK(found.kernel.max_abs_index == 1);
}

TEST_CASE("last places beyond the tolerance are violations, the first and the worst named") {
  const Errors found = errors_of({1, 1 + 4 * kStep, 1 + 5 * kStep, 1 - 9 * kStep, 1 + 6 * kStep},
                                 {1, 1, 1, 1, 1 + 7 * kStep}, {1, 1, 1, 1, 1});
  CHECK(found.violations == 3);
  CHECK(found.first_violation == 2);
  CHECK(found.worst_violation == 3);
  CHECK(found.eager_violations == 1);
}

TEST_CASE("the envelope widens the bound where it is, and only there") {
  // Bound at 0: 4 + 4·2 = 12 last places, at 1: 4.
  const std::vector<float> kernel = {1 + 12 * kStep, 1 + 12 * kStep};
  const Errors found = errors_of(kernel, {1, 1}, {1, 1}, {2 * kStep, 0});
  CHECK(found.violations == 1);
  CHECK(found.first_violation == 1);
  CHECK(errors_of({1 + 13 * kStep, 1}, {1, 1}, {1, 1}, {2 * kStep, 0}).violations == 1);
}

TEST_CASE("the absolute tolerance is a floor under the ulps, not added to them") {
  const ErrorTolerance tolerance{.ulps = 4, .absolute = 6 * kStep};
  CHECK(errors_of({1 + 6 * kStep}, {1}, {1}, {}, tolerance).violations == 0);
  CHECK(errors_of({1 + 7 * kStep}, {1}, {1}, {}, tolerance).violations == 1);
  CHECK(errors_of({1024 + 4 * 1024 * kStep}, {1024}, {1024}, {}, tolerance).violations == 0);
}

TEST_CASE("what is granted without the envelope is told as a whole") {
  // 4 last places at 1 and at 2: root mean square of 4 and 8 steps. The NaN counts for nothing.
  const Errors found = errors_of({1, 2, kNanF}, {1, 2, 1}, {1, 2, 1}, {1, 1, 1});
  CHECK(found.granted_rms == doctest::Approx(std::sqrt(40.0) * kStep));
}

TEST_CASE("an unbounded envelope lets finite values through, but no NaN") {
  for (const double spread : {kInf, kNan}) {
    CHECK(errors_of({5}, {1}, {1}, {spread}).violations == 0);
    CHECK(errors_of({kNanF}, {1}, {1}, {spread}).violations == 1);
  }
}

TEST_CASE("NaN and Inf must be those of the rounded exact value") {
  const Errors found = errors_of({kNanF, kInfF, -kInfF, kNanF, kInfF, 1, kInfF},
                                 {kNanF, kInfF, -kInfF, 1, -kInfF, kInfF, kInfF},
                                 {kNan, kInf, -kInf, 1, kInf, kInf, 1e300});
  CHECK(found.violations == 2);  // NaN for 1, and 1 for Inf; 1e300 rounds to Inf
  CHECK(found.first_violation == 3);
  CHECK(found.worst_violation == 3);
  CHECK(found.eager_violations == 1);
}

TEST_CASE("only parts that are finite on all sides count into the errors") {
  const Errors found = errors_of({kNanF, 7, 7, 1}, {1, kInfF, 1, 1 + kStep}, {1, 1, kInf, 1});
  CHECK(found.kernel.max_abs == 0.0);
  CHECK(found.eager.max_abs == kStep);
  CHECK(found.eager.max_abs_index == 3);
  CHECK(found.eager.rms == kStep);
}

TEST_CASE("no elements, no errors") {
  const Errors found = errors_of({}, {}, {});
  CHECK(found.violations == 0);
  CHECK(found.kernel.rms == 0.0);
}

TEST_CASE("half types have their own last places, subnormals included") {
  // bfloat16: 1 and its fifth neighbour above; the last place is 2^-7.
  const Pair brain = pair_of<std::uint16_t>(DType::kBFloat16, {0x3f85}, {0x3f84});
  const std::vector<double> one = {1.0};
  const Errors found = compare_errors(brain.expected(), brain.actual(), one, {}, {});
  CHECK(found.kernel.max_ulp == 5.0);
  CHECK(found.kernel.max_abs == 5 * 0x1p-7);
  CHECK(found.violations == 1);
  CHECK(found.eager_violations == 0);

  // float16: 6 and 0 smallest subnormals where 1 is right.
  const Pair half = pair_of<std::uint16_t>(DType::kFloat16, {6}, {0});
  const std::vector<double> subnormal = {0x1p-24};
  const Errors tiny = compare_errors(half.expected(), half.actual(), subnormal, {}, {});
  CHECK(tiny.kernel.max_ulp == 5.0);
  CHECK(tiny.eager.max_ulp == 1.0);
  CHECK(tiny.violations == 1);
}

TEST_CASE("float8 without Inf: too large an exact value is torch's answer to it") {
  const std::vector<double> large = {1000.0, 1000.0};
  // e4m3fn: the largest number, not NaN.
  const Pair fn = pair_of<std::uint8_t>(DType::kFloat8E4M3FN, {0x7f, 0x7e}, {0x7e, 0x7e});
  const Errors saturated = compare_errors(fn.expected(), fn.actual(), large, {}, {});
  CHECK(saturated.violations == 1);
  CHECK(saturated.first_violation == 0);
  CHECK(saturated.eager_violations == 0);
  // e4m3fnuz: NaN.
  const Pair fnuz = pair_of<std::uint8_t>(DType::kFloat8E4M3FNUZ, {0x80, 0x80}, {0x80, 0x7f});
  const Errors undefined = compare_errors(fnuz.expected(), fnuz.actual(), large, {}, {});
  CHECK(undefined.violations == 0);
  CHECK(undefined.eager_violations == 1);
}

TEST_CASE("complex outputs are judged part by part") {
  const Pair pair = pair_of<float>(DType::kComplex64, {1, 2 + 20 * kStep}, {1, 2});
  const std::vector<double> exact = {1, 2};
  const Errors found = compare_errors(pair.expected(), pair.actual(), exact, {}, {});
  CHECK(found.violations == 1);
  CHECK(found.first_violation == 1);
  CHECK(found.kernel.max_ulp == 10.0);
}

TEST_CASE("counts that do not fit are refused") {
  CHECK_THROWS_AS(errors_of({1, 2}, {1, 2}, {1}), Error);
  CHECK_THROWS_AS(errors_of({1, 2}, {1}, {1, 2}), Error);
  CHECK_THROWS_AS(errors_of({1, 2}, {1, 2}, {1, 2}, {0}), Error);
}

}  // namespace
}  // namespace fuseproof::test
