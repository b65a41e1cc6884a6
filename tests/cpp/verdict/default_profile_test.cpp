#include "verdict/default_profile.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "evidence_fixture.h"

using namespace fuseproof;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const DefaultProfile kProfile;

float next(float value, int steps) {
  for (int i = 0; i < steps; ++i) value = std::nextafter(value, 2 * value);
  return value;
}

}  // namespace

TEST_CASE("equal sides match without a float64 opinion") {
  const auto sides = Sides::floats({1, NAN, kInfinity, -0.0F}, {1, NAN, kInfinity, -0.0F});
  const auto judgement = screen(sides.evidence(), kProfile);
  REQUIRE(judgement);
  CHECK(judgement->verdict == Verdict::kMatch);
}

TEST_CASE("a few units in the last place need no float64 opinion, more do") {
  CHECK(screen(Sides::floats({next(1, 2)}, {1}).evidence(), kProfile));
  CHECK_FALSE(screen(Sides::floats({next(1, 30)}, {1}).evidence(), kProfile));
}

TEST_CASE("an integer that differs is wrong, and its place is named") {
  const auto sides = Sides::integers({1, 2, 4}, {1, 2, 3});
  const auto judgement = screen(sides.evidence(), kProfile);
  REQUIRE(judgement);
  CHECK(judgement->verdict == Verdict::kKernelWrong);
  CHECK(judgement->difference == DifferenceKind::kValue);
  CHECK(judgement->worst_element == 2);
}

TEST_CASE("float64 decides who is right") {
  const auto kernel_off = Sides::floats({1.5F, 2}, {1, 2}, {1, 2});
  REQUIRE_FALSE(screen(kernel_off.evidence(), kProfile));
  const Judgement wrong = judge_with_opinion(kernel_off.evidence(), kProfile);
  CHECK(wrong.verdict == Verdict::kKernelWrong);
  CHECK(wrong.worst_element == 0);

  const auto eager_off = Sides::floats({1, 2}, {1.5F, 2}, {1, 2});
  CHECK(judge_with_opinion(eager_off.evidence(), kProfile).verdict == Verdict::kEagerWorse);
}

TEST_CASE("a NaN where float64 has a number is wrong, one where it has NaN is right") {
  const auto wrong = Sides::floats({NAN, 1}, {2, 1}, {2, 1});
  REQUIRE_FALSE(screen(wrong.evidence(), kProfile));
  const Judgement judgement = judge_with_opinion(wrong.evidence(), kProfile);
  CHECK(judgement.verdict == Verdict::kKernelWrong);
  CHECK(judgement.difference == DifferenceKind::kNan);

  const auto right = Sides::floats({NAN, 1}, {2, 1}, {NAN, 1});
  CHECK(judge_with_opinion(right.evidence(), kProfile).verdict == Verdict::kEagerWorse);
}

TEST_CASE("where positions alone differ, their number is said and no distance") {
  const auto nan = Sides::floats({NAN, NAN, 1}, {2, 3, 1}, {2, 3, 1});
  CHECK(judge_with_opinion(nan.evidence(), kProfile).message ==
        "2 of 3 elements are further from float64 than rounding explains (2 NaN positions differ "
        "from eager's)");
  const auto both = Sides::floats({kInfinity, 2}, {1, 1}, {1, 1});
  CHECK(judge_with_opinion(both.evidence(), kProfile).message ==
        "2 of 2 elements are further from float64 than rounding explains (1 Inf positions differ "
        "from eager's; kernel 1, eager 0 at most; 1 and 0 root mean square)");
}

TEST_CASE("an overflow that eager's rounding makes and float64 does not have is eager's") {
  // fp16: 300 * 300 overflows in eager; the fused kernel and float64 divide it back to 300.
  const auto sides = Sides::floats({300}, {kInfinity}, {300});
  const Judgement judgement = judge_with_opinion(sides.evidence(), kProfile);
  CHECK(judgement.verdict == Verdict::kEagerWorse);
  CHECK(judgement.difference == DifferenceKind::kInf);
}

TEST_CASE("a zero of the wrong sign is a finding when eager and float64 agree on the sign") {
  const auto wrong = Sides::floats({0.0F, 1}, {-0.0F, 1}, {-0.0, 1});
  REQUIRE_FALSE(screen(wrong.evidence(), kProfile));
  const Judgement judgement = judge_with_opinion(wrong.evidence(), kProfile);
  CHECK(judgement.verdict == Verdict::kKernelWrong);
  CHECK(judgement.difference == DifferenceKind::kSign);

  const auto right = Sides::floats({0.0F, 1}, {-0.0F, 1}, {0.0, 1});
  CHECK(judge_with_opinion(right.evidence(), kProfile).verdict != Verdict::kKernelWrong);
}

TEST_CASE("where cancellation leaves both sides far off, eager's own error is the measure") {
  const auto alike = Sides::floats({1.001F, 2.001F}, {0.999F, 1.999F}, {1, 2});
  CHECK(judge_with_opinion(alike.evidence(), kProfile).verdict == Verdict::kMatch);
  const auto worse_kernel = Sides::floats({1.1F, 2.1F}, {0.999F, 1.999F}, {1, 2});
  CHECK(judge_with_opinion(worse_kernel.evidence(), kProfile).verdict == Verdict::kKernelWrong);
}

TEST_CASE("the envelope widens the bound at its place only") {
  auto sides = Sides::floats({1.001F, 2.001F}, {1, 2}, {1, 2});
  const std::vector<double> envelope = {0.001, 0};
  OutputEvidence evidence = sides.evidence();
  evidence.envelope = envelope;
  const Judgement judgement = judge_with_opinion(evidence, kProfile);
  CHECK(judgement.verdict == Verdict::kKernelWrong);
  CHECK(judgement.worst_element == 1);
}

TEST_CASE("half precision is held to float32's units and one of its own") {
  // 1, and 1 with one and with two units of float16 added.
  const std::vector<std::uint16_t> one(4, 0x3c00);
  const auto judged = [&](std::uint16_t bits) {
    const Sides sides{DType::kFloat16,
                      bytes_of(std::vector<std::uint16_t>(4, bits)),
                      bytes_of(one),
                      {1, 1, 1, 1}};
    return judge_with_opinion(sides.evidence(), kProfile).verdict;
  };
  CHECK(judged(0x3c01) == Verdict::kMatch);
  CHECK(judged(0x3c02) == Verdict::kKernelWrong);
}

TEST_CASE("an envelope does not let a kernel through whose errors as a whole are too large") {
  // Each element is within the envelope, but all are off the same way by far more than eager is.
  const std::vector<float> eager(100, 1.00001F);
  const std::vector<double> exact(100, 1);
  const std::vector<double> envelope(100, 1e-4);
  const auto judged = [&](float kernel) {
    const auto sides = Sides::floats(std::vector<float>(100, kernel), eager, exact);
    OutputEvidence evidence = sides.evidence();
    evidence.envelope = envelope;
    return judge_with_opinion(evidence, kProfile).verdict;
  };
  CHECK(judged(1.0001F) == Verdict::kMatch);
  CHECK(judged(1.00035F) == Verdict::kKernelWrong);
}

TEST_CASE("in half precision an eager without errors does not make a single small one too large") {
  // 0x3f80 is 1 in bfloat16, 0x3580 is 2^-20; the envelope explains what cancelled there.
  std::vector<std::uint16_t> eager(100, 0x3f80);
  std::vector<double> exact(100, 1);
  const auto judged = [&](const std::vector<std::uint16_t>& kernel, double spread) {
    const Sides sides{DType::kBFloat16, bytes_of(kernel), bytes_of(eager), exact};
    const std::vector<double> envelope(100, spread);
    OutputEvidence evidence = sides.evidence();
    evidence.envelope = envelope;
    return judge_with_opinion(evidence, kProfile).verdict;
  };
  // Four last places everywhere are a fault, whatever the envelope says of each.
  CHECK(judged(std::vector<std::uint16_t>(100, 0x3f84), 0.1) == Verdict::kKernelWrong);

  eager[0] = 0x3580;
  exact[0] = 0x1p-20;
  std::vector<std::uint16_t> kernel = eager;
  kernel[0] = 0x35a0;  // 1.25 · 2^-20
  CHECK(judged(kernel, 0x1p-22) == Verdict::kMatch);
  CHECK(judged(kernel, 0x1p-25) == Verdict::kKernelWrong);
}

TEST_CASE("an element that a free run puts there is a decision, another one is a fault") {
  const auto sides = Sides::integers({1, 7, 3}, {1, 2, 3});
  const std::vector<double> low = {1, 2, 3};
  const std::vector<double> high = {1, 7, 3};
  const auto explained = explain_by_decisions(sides.evidence(), {low, high}, kProfile);
  REQUIRE(explained);
  CHECK(explained->verdict == Verdict::kNoiseMagnified);
  const std::vector<double> lower = {1, 6, 3};
  CHECK_FALSE(explain_by_decisions(sides.evidence(), {low, lower}, kProfile));
}

TEST_CASE("where rounding noise flips a step the difference is magnified noise") {
  // floor(sum(softmax)) is 0 or 1 by the last bit of the sum.
  const std::vector<double> envelope = {1, 1};
  for (const auto& sides :
       {Sides::floats({1, 1}, {0, 1}, {1, 1}), Sides::floats({0, 1}, {1, 1}, {1, 1})}) {
    OutputEvidence evidence = sides.evidence();
    evidence.envelope = envelope;
    CHECK(judge_with_opinion(evidence, kProfile).verdict == Verdict::kNoiseMagnified);
  }
}

TEST_CASE("without a float64 opinion a difference is no finding and says why") {
  auto sides = Sides::floats({1.5F}, {1});
  OutputEvidence evidence = sides.evidence();
  evidence.no_oracle = "aten.special.default has no float64 kernel";
  const Judgement judgement = judge_with_opinion(evidence, kProfile);
  CHECK(judgement.verdict == Verdict::kNoOracle);
  CHECK(judgement.message.find("no float64 kernel") != std::string::npos);
}
