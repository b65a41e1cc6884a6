// The rules of measure() on small vectors, with numbers worked out by hand.
#include "compare/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <doctest/doctest.h>

#include "base/error.h"
#include "compare/convert.h"
#include "compare/pairs.h"

namespace fuseproof::test {
namespace {

constexpr double kEpsilon = 0x1p-23;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Metrics measure_floats(const std::vector<float>& x, const std::vector<float>& y) {
  const Pair pair = floats(x, y);
  return measure(pair.expected(), pair.actual());
}

Metrics measure_doubles(const std::vector<double>& x, const std::vector<double>& y) {
  const Pair pair = doubles(x, y);
  return measure(pair.expected(), pair.actual());
}

doctest::Approx near(double value) { return doctest::Approx(value).epsilon(1e-13); }

TEST_CASE("the formulas on four numbers") {
  // x·y = 0+2+0+12 = 14, |x|² = 21, |y|² = 14, x−y = (0, −1, 2, 1).
  const Metrics found = measure_floats({0, 1, 2, 4}, {0, 2, 0, 3});
  CHECK(found.count == 4);
  CHECK(found.compared == 4);
  CHECK(found.cosine == near(14 / std::sqrt(21.0 * 13.0)));
  CHECK(found.rel_euclid == near(std::sqrt(6.0 / 13.0)));
  CHECK(found.mae == near(1.0));
  CHECK(found.rmse == near(std::sqrt(6.0 / 4.0)));
  CHECK(found.max_abs == 2.0);
  CHECK(found.max_abs_index == 2);
}

TEST_CASE("KL divergence in both forms on three numbers") {
  // Normalised: p = (eps, ½, 1), q = (eps, ¼, 1). Literal: ½·log 2. Sums: P = 1½+eps, Q = 1¼+eps.
  const Metrics found = measure_floats({0, 2, 4}, {0, 1, 4});
  const double p_sum = 1.5 + kEpsilon;
  const double q_sum = 1.25 + kEpsilon;
  CHECK(found.kl_literal == near(0.5 * std::numbers::ln2));
  CHECK(found.kl == near(0.5 * std::numbers::ln2 / p_sum + std::log(q_sum / p_sum)));
}

TEST_CASE("KL divergence takes logarithms as the C library does, at every ratio") {
  // p = (eps, t, 1) against q = (eps, 1, 1), and the other way round.
  double worst = 0;
  for (double t = 1e-6; t < 1; t *= 1.013) {
    const double down = t * std::log(t);
    const double up = -std::log(t);
    worst = std::max(worst, std::fabs(measure_doubles({0, t, 1}, {0, 1, 1}).kl_literal / down - 1));
    worst = std::max(worst, std::fabs(measure_doubles({0, 1, 1}, {0, t, 1}).kl_literal / up - 1));
  }
  CHECK(worst < 3e-15);
}

TEST_CASE("KL divergence clamps zeros at eps") {
  // p = (eps, 1), q = (1, eps): eps·log eps + 1·log(1/eps) = (1 − eps)·log(1/eps).
  const Metrics found = measure_floats({0, 1}, {1, 0});
  const double literal = (1 - kEpsilon) * -std::log(kEpsilon);
  CHECK(found.kl_literal == near(literal));
  CHECK(found.kl == near(literal / (1 + kEpsilon)));  // both sums are 1 + eps
}

TEST_CASE("KL divergence ignores offset and scale, and is never negative") {
  const Metrics found = measure_floats({1, 2, 4, 8, 9}, {-3, -1, 3, 11, 13});
  CHECK(found.kl >= 0);
  CHECK(found.kl < 1e-30);
}

TEST_CASE("equal tensors have no distance at all") {
  const std::vector<float> values = {0.1f, -7.3f, 1e-20f, 3e20f, 0.7f};
  const Metrics found = measure_floats(values, values);
  CHECK(found.cosine == near(1.0));
  CHECK(found.rel_euclid == 0.0);
  CHECK(found.kl == 0.0);
  CHECK(found.kl_literal == 0.0);
  CHECK(found.max_abs == 0.0);
  CHECK(found.max_abs_index == 0);
}

TEST_CASE("both norms under eps: cosine 1, and 0 relative distance") {
  for (const float tiny : {0.0f, 1e-8f}) {
    const Metrics found = measure_floats({tiny, tiny}, {0, 0});
    CHECK(found.cosine == 1.0);
    CHECK(found.rel_euclid == 0.0);
  }
}

TEST_CASE("one norm under eps: cosine 0") {
  CHECK(measure_floats({0, 0}, {1, 1}).cosine == 0.0);
  CHECK(measure_floats({1, 1}, {0, 0}).cosine == 0.0);
}

TEST_CASE("a norm of exactly eps counts") {
  CHECK(measure_doubles({kEpsilon, 0}, {0, kEpsilon}).cosine == 0.0);
  CHECK(measure_doubles({kEpsilon, 0}, {-kEpsilon, 0}).cosine == -1.0);
  CHECK(measure_doubles({std::nextafter(kEpsilon, 0.0), 0}, {-kEpsilon, 0}).cosine == 0.0);
}

TEST_CASE("a squared norm of y under eps: relative distance 0 or infinite") {
  // 3e-4² = 9e-8 is under eps = 1.2e-7, 4e-4² = 1.6e-7 is not.
  CHECK(measure_doubles({0}, {3e-4}).rel_euclid == 0.0);
  CHECK(measure_doubles({1}, {3e-4}).rel_euclid == std::numeric_limits<double>::infinity());
  CHECK(measure_doubles({0}, {4e-4}).rel_euclid == near(1.0));
}

TEST_CASE("a range under eps normalises to eps everywhere") {
  // Both constant: p = q. One constant: p = eps thrice against q = (eps, ½, 1).
  CHECK(measure_floats({5, 5, 5}, {9, 9, 9}).kl == 0.0);
  CHECK(measure_floats({5, 5, 5}, {9, 9, 9}).kl_literal == 0.0);
  const Metrics found = measure_floats({5, 5, 5}, {0, 1, 2});
  const double literal = kEpsilon * (std::log(kEpsilon / 0.5) + std::log(kEpsilon));
  CHECK(found.kl_literal == near(literal));
  const double q_sum = 1.5 + kEpsilon;
  CHECK(found.kl ==
        near((std::log(q_sum / kEpsilon / 3) + std::log(q_sum / 1.5) + std::log(q_sum / 3)) / 3));
}

TEST_CASE("a range of eps is normalised") {
  CHECK(measure_doubles({0, kEpsilon}, {kEpsilon, 0}).kl > 1.0);
  const double under = std::nextafter(kEpsilon, 0.0);
  CHECK(measure_doubles({0, under}, {under, 0}).kl == 0.0);
}

TEST_CASE("an empty tensor is equal to an empty tensor") {
  const Metrics found = measure_floats({}, {});
  CHECK(found.count == 0);
  CHECK(found.compared == 0);
  CHECK(found.cosine == 1.0);
  CHECK(found.rel_euclid == 0.0);
  CHECK(found.kl == 0.0);
  CHECK(found.mae == 0.0);
  CHECK(found.rmse == 0.0);
}

TEST_CASE("one element") {
  const Metrics found = measure_floats({3}, {-4});
  CHECK(found.cosine == near(-1.0));
  CHECK(found.rel_euclid == near(7.0 / 4.0));
  CHECK(found.kl == 0.0);
  CHECK(found.mae == 7.0);
  CHECK(found.rmse == 7.0);
  CHECK(found.max_abs == 7.0);
}

TEST_CASE("NaN and Inf at the same places are left out") {
  const Metrics found =
      measure_floats({0, kNan, 1, kInf, 2, -kInf, 4}, {0, -kNan, 2, kInf, 0, -kInf, 3});
  const Metrics without = measure_floats({0, 1, 2, 4}, {0, 2, 0, 3});
  CHECK(found.count == 7);
  CHECK(found.compared == 4);
  CHECK(found.aligned_nonfinite == 3);
  CHECK(found.mismatched_nonfinite == 0);
  CHECK(found.cosine == without.cosine);
  CHECK(found.rel_euclid == without.rel_euclid);
  CHECK(found.kl == without.kl);
  CHECK(found.mae == without.mae);
  CHECK(found.rmse == without.rmse);
  CHECK(found.max_abs == 2.0);
  CHECK(found.max_abs_index == 4);
}

TEST_CASE("NaN and Inf at different places are counted, and the rest is measured") {
  const Metrics found =
      measure_floats({kNan, 1, kInf, kInf, 5, kNan, 1}, {0, kNan, -kInf, 3, kInf, kInf, 3});
  CHECK(found.mismatched_nonfinite == 6);
  CHECK(found.aligned_nonfinite == 0);
  CHECK(found.compared == 1);
  CHECK(found.mae == 2.0);
  CHECK(found.max_abs_index == 6);
}

TEST_CASE("tensors of nothing but NaN have nothing to compare") {
  const Metrics found = measure_floats({kNan, kNan}, {kNan, kNan});
  CHECK(found.aligned_nonfinite == 2);
  CHECK(found.compared == 0);
  CHECK(found.cosine == 1.0);
  CHECK(found.rmse == 0.0);
}

TEST_CASE("float32 at the ends of its range") {
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
  const Metrics found = measure_floats({kMax, -kMax, kDenormal}, {-kMax, -kMax, 0});
  CHECK(found.max_abs == 2.0 * kMax);
  CHECK(found.cosine == doctest::Approx(0.0));
  CHECK(found.rel_euclid == near(std::sqrt(2.0)));
  CHECK(found.compared == 3);
}

TEST_CASE("float64 values whose squares overflow are measured all the same") {
  // What torch.finfo(torch.float64).min as a mask's fill value gives.
  constexpr double kMin = std::numeric_limits<double>::lowest();
  const Metrics same = measure_doubles({kMin, 1, 0.5}, {kMin, 1, 0.5});
  CHECK(same.compared == 3);
  CHECK(same.cosine == near(1.0));
  CHECK(same.rel_euclid == 0.0);
  CHECK(same.kl == 0.0);
  CHECK(same.max_abs == 0.0);

  const Metrics far = measure_doubles({1e200, 3e200}, {3e200, 1e200});
  CHECK(far.cosine == near(0.6));
  CHECK(far.rel_euclid == near(std::sqrt(8.0 / 10.0)));
  CHECK(far.mae == near(2e200));
  CHECK(far.rmse == near(2e200));
  CHECK(far.max_abs == near(2e200));
  CHECK(far.kl_literal == near((1 - kEpsilon) * -std::log(kEpsilon)));

  const Metrics with_nan =
      measure_doubles({1e200, std::nan(""), 3e200}, {3e200, std::nan(""), 1e200});
  CHECK(with_nan.aligned_nonfinite == 1);
  CHECK(with_nan.cosine == near(0.6));
}

TEST_CASE("complex numbers are measured as their parts") {
  const Pair complex = pair_of<float>(DType::kComplex64, {0, 1, 2, 4}, {0, 2, 0, 3});
  const Metrics found = measure(complex.expected(), complex.actual());
  const Metrics parts = measure_floats({0, 1, 2, 4}, {0, 2, 0, 3});
  CHECK(complex.expected().count() == 2);
  CHECK(found.count == 4);
  CHECK(found.cosine == parts.cosine);
  CHECK(found.kl == parts.kl);
  CHECK(found.max_abs_index == 2);
}

TEST_CASE("every finite float16 and bfloat16 is taken at its value") {
  constexpr std::size_t kCopies = 33;  // some go through whole vectors, some through the tail
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    CAPTURE(dtype_name(dtype));
    const Bytes zeros(2 * kCopies);
    std::size_t wrong = 0;
    for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
      const Bytes bytes =
          bytes_of(std::vector<std::uint16_t>(kCopies, static_cast<std::uint16_t>(pattern)));
      const double value = std::fabs(value_at({dtype, bytes}, 0));
      const Metrics found = measure({dtype, bytes}, {dtype, zeros});
      const bool right = std::isfinite(value) ? found.max_abs == value && found.compared == kCopies
                                              : found.mismatched_nonfinite == kCopies;
      if (!right) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("integers and bools are measured as numbers") {
  const Pair integers = pair_of<std::int32_t>(DType::kInt32, {0, 1, 2, 4}, {0, 2, 0, 3});
  CHECK(measure(integers.expected(), integers.actual()).rmse == near(std::sqrt(1.5)));
  const Pair bools = pair_of<std::uint8_t>(DType::kBool, {1, 0, 1, 0}, {1, 1, 1, 0});
  CHECK(measure(bools.expected(), bools.actual()).mae == 0.25);
}

TEST_CASE("the first of several largest differences is named, across blocks and threads") {
  std::vector<float> x(300000, 1.0f), y(300000, 1.0f);
  for (const std::size_t index : {140001u, 140000u, 290000u}) y[index] = 3.0f;
  const Pair pair = floats(x, y);
  for (const int threads : {1, 3}) {
    CHECK(measure(pair.expected(), pair.actual(), {.threads = threads}).max_abs_index == 140000);
  }
}

TEST_CASE("another dtype or count is refused") {
  const Pair pair = floats({1, 2}, {1, 2});
  const Packed as_integers{DType::kInt32, pair.y};
  const Packed shorter{DType::kFloat32, std::span(pair.y).first(4)};
  const Packed ragged{DType::kFloat32, std::span(pair.y).first(7)};
  for (const Packed& other : {as_integers, shorter, ragged}) {
    try {
      measure(pair.expected(), other);
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kUsage);
    }
  }
}

}  // namespace
}  // namespace fuseproof::test
