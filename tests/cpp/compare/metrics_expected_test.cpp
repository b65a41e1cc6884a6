// measure() and ulp_distance() against what NumPy and PyTorch gave for the same tensors.
#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "compare/expected.h"
#include "compare/metrics.h"
#include "compare/pairs.h"
#include "compare/targets.h"
#include "compare/ulp.h"

namespace fuseproof::test {
namespace {

std::string name_of(const ExpectedMetrics& row) {
  return std::string(dtype_name(row.dtype)) + " " + std::to_string(row.count) + " specials " +
         std::to_string(row.specials);
}

bool near(double found, double expected, double relative) {
  return found == expected || std::fabs(found - expected) <= relative * std::fabs(expected);
}

// Each p and q carries a rounding error of its own, which the literal sum keeps.
double literal_error(const ExpectedMetrics& row) {
  return 0x1p-52 * (row.count + 1.0) + 1e-12 * std::fabs(row.kl_literal);
}

// What is left of NumPy's longdouble when p and q are all but equal.
constexpr double kLongDoubleError = 1e-18;

void check_metrics(const Metrics& found, const ExpectedMetrics& row, double relative) {
  CHECK(found.aligned_nonfinite == row.aligned);
  CHECK(found.mismatched_nonfinite == row.mismatched);
  CHECK(found.compared + row.aligned + row.mismatched == found.count);
  CHECK(near(found.cosine, row.cosine, relative));
  CHECK(near(found.rel_euclid, row.rel_euclid, relative));
  CHECK(near(found.mae, row.mae, relative));
  CHECK(near(found.rmse, row.rmse, relative));
  CHECK(found.max_abs == row.max_abs);
  CHECK(found.max_abs_index == row.max_abs_index);
  CHECK(std::fabs(found.kl - row.kl) <= 1e-11 * row.kl + kLongDoubleError);
  CHECK(std::fabs(found.kl_literal - row.kl_literal) <= literal_error(row));
}

void check_close(const Metrics& found, const Metrics& expected) {
  CHECK(near(found.cosine, expected.cosine, 1e-12));
  CHECK(near(found.rel_euclid, expected.rel_euclid, 1e-12));
  CHECK(near(found.kl, expected.kl, 1e-12));
  CHECK(near(found.kl_literal, expected.kl_literal, 1e-12));
  CHECK(near(found.mae, expected.mae, 1e-12));
  CHECK(near(found.rmse, expected.rmse, 1e-12));
  CHECK(found.max_abs == expected.max_abs);
  CHECK(found.max_abs_index == expected.max_abs_index);
  CHECK(found.compared == expected.compared);
  CHECK(found.aligned_nonfinite == expected.aligned_nonfinite);
}

TEST_CASE("measure agrees with NumPy on every dtype and around every block border") {
  for (const ExpectedMetrics& row : kExpectedMetrics) {
    CAPTURE(name_of(row));
    const Pair pair = make_pair(row.dtype, row.count, row.specials);
    check_metrics(measure(pair.expected(), pair.actual()), row, 1e-12);
  }
}

TEST_CASE("measure agrees with NumPy on every SIMD target") {
  for_each_target([](const std::string& target) {
    CAPTURE(target);
    for (const ExpectedMetrics& row : kExpectedMetrics) {
      CAPTURE(name_of(row));
      const Pair pair = make_pair(row.dtype, row.count, row.specials);
      check_metrics(measure(pair.expected(), pair.actual()), row, 1e-12);
    }
  });
}

TEST_CASE("the weakest SIMD target gives the same numbers as the best") {
  CHECK((hwy::SupportedTargets() & HWY_STATIC_TARGET) != 0);
  for (const ExpectedMetrics& row : kExpectedMetrics) {
    CAPTURE(name_of(row));
    const Pair pair = make_pair(row.dtype, row.count, row.specials);
    const Metrics best = measure(pair.expected(), pair.actual());
    const ForcedTarget forced(HWY_STATIC_TARGET);
    check_close(measure(pair.expected(), pair.actual()), best);
  }
}

TEST_CASE("any number of threads gives the same bits") {
  for (const int specials : {0, 1, 2}) {
    const Pair pair = make_pair(DType::kFloat32, 700003, specials);
    const Metrics one = measure(pair.expected(), pair.actual(), {.threads = 1});
    for (const int threads : {-1, 0, 2, 3, 8, 64}) {
      CAPTURE(threads);
      const Metrics many = measure(pair.expected(), pair.actual(), {.threads = threads});
      CHECK(many.compared == one.compared);
      CHECK(many.aligned_nonfinite == one.aligned_nonfinite);
      CHECK(many.mismatched_nonfinite == one.mismatched_nonfinite);
      CHECK(many.cosine == one.cosine);
      CHECK(many.rel_euclid == one.rel_euclid);
      CHECK(many.kl == one.kl);
      CHECK(many.kl_literal == one.kl_literal);
      CHECK(many.mae == one.mae);
      CHECK(many.rmse == one.rmse);
      CHECK(many.max_abs_index == one.max_abs_index);
    }
  }
}

TEST_CASE("elements at odd addresses are read like others") {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64,
                            DType::kInt64, DType::kComplex64}) {
    CAPTURE(dtype_name(dtype));
    const Pair pair = make_pair(dtype, 2500, 0);
    Bytes shifted(pair.x.size() + 1);
    std::memcpy(shifted.data() + 1, pair.x.data(), pair.x.size());
    const Packed odd{dtype, std::span(shifted).subspan(1)};
    const Metrics aligned = measure(pair.expected(), pair.actual());
    const Metrics unaligned = measure(odd, pair.actual());
    CHECK(unaligned.cosine == aligned.cosine);
    CHECK(unaligned.kl == aligned.kl);
    CHECK(ulp_distance(odd, pair.actual()).max == ulp_distance(pair.expected(), pair.actual()).max);
  }
}

TEST_CASE("ulp_distance agrees with NumPy's spacing on every dtype and target") {
  for_each_target([](const std::string& target) {
    CAPTURE(target);
    for (const ExpectedMetrics& row : kExpectedMetrics) {
      CAPTURE(name_of(row));
      const Pair pair = make_pair(row.dtype, row.count, row.specials);
      const UlpDistance found = ulp_distance(pair.expected(), pair.actual());
      CHECK(found.max == row.ulp);
      CHECK(found.index == row.ulp_index);
    }
  });
}

}  // namespace
}  // namespace fuseproof::test
