#include "verdict/cann.h"

#include <doctest/doctest.h>

#include <cmath>

#include "evidence_fixture.h"

using namespace fuseproof;

namespace {

CannResult judged(const Sides& sides) { return judge_cann("add", sides.evidence(), {}); }

}  // namespace

TEST_CASE("equal tensors pass, in the document's words") {
  const CannResult result = judged(Sides::floats({1, 2, 3}, {1, 2, 3}));
  CHECK(result.judgement.verdict == Verdict::kMatch);
  CHECK(result.line.starts_with(
      "output:add precision PASSED: CosineSim=1.000000 RelEuclid=0 KLDiv="));
}

TEST_CASE("an empty tensor passes and says so") {
  CHECK(judged(Sides::floats({}, {})).line == "output:add precision check passed: empty tensor");
}

TEST_CASE("a relative Euclidean distance of 0.05 fails, one below passes") {
  // x = 20, y = 21: sqrt(1/441) = 0.0476; x = 20, y = 22: sqrt(4/484) = 0.0909.
  CHECK(judged(Sides::floats({21, 21}, {20, 20})).judgement.verdict == Verdict::kMatch);
  CHECK(judged(Sides::floats({22, 22}, {20, 20})).judgement.verdict == Verdict::kKernelWrong);
}

TEST_CASE("NaN at the same places is noted, at different places it fails") {
  const CannResult aligned = judged(Sides::floats({1, NAN, 2}, {1, NAN, 2}));
  CHECK(aligned.judgement.verdict == Verdict::kMatch);
  CHECK(aligned.line.find("[NOTE: 1 NaN/Inf") != std::string::npos);
  const CannResult shifted = judged(Sides::floats({NAN, 1, 2}, {1, NAN, 2}));
  CHECK(shifted.judgement.verdict == Verdict::kKernelWrong);
  CHECK(shifted.judgement.difference == DifferenceKind::kNan);
  CHECK(shifted.line.find("precision FAILED") != std::string::npos);
}

TEST_CASE("a deviation in one place warns and does not fail") {
  // MAE = 0.01/4, RMSE = 0.01/2: ratio 2.
  const CannResult result = judged(Sides::floats({1, 2, 3, 4.01F}, {1, 2, 3, 4}));
  CHECK(result.judgement.verdict == Verdict::kMatch);
  CHECK(result.line.find("[WARN: RMSE/MAE=2, deviation not concentrated]") != std::string::npos);
}

TEST_CASE("integers must be equal") {
  CHECK(judged(Sides::integers({1, 2}, {1, 2})).line == "output:add precision PASSED");
  CHECK(judged(Sides::integers({1, 3}, {1, 2})).judgement.verdict == Verdict::kKernelWrong);
}
