#include "check/output_check.h"

#include <cmath>

#include <doctest/doctest.h>

#include "evidence_fixture.h"

using namespace fuseproof;

namespace {

// One output of both sides, and what the reference says when it is asked further.
struct Case {
  Sides sides;
  std::vector<double> exact = {};
  std::string no_oracle = "";
  std::vector<double> envelope = {};
  OutputSides::FreeSpan span = {};
  std::vector<std::vector<float>> unrounded = {};  // without half-precision rounding, each way
  OutputSides::Open open = {};
};

struct Judged {
  Judgement judgement;
  int asked_exact = 0;
  int asked_envelope = 0;
  int asked_span = 0;
};

Judged judged(const Case& given) {
  Judged result;
  const auto count = static_cast<std::int64_t>(given.sides.evidence().eager.count());
  const Layout layout{given.sides.dtype, {count}, {1}, 0};
  const OutputSides sides{.kernel = {layout, given.sides.kernel},
                          .eager = {layout, given.sides.eager},
                          .exact =
                              [&] {
                                ++result.asked_exact;
                                return OutputSides::Exact{given.exact, given.no_oracle};
                              },
                          .envelope =
                              [&] {
                                ++result.asked_envelope;
                                return given.envelope;
                              },
                          .span =
                              [&] {
                                ++result.asked_span;
                                return given.span;
                              },
                          .unrounded =
                              [&] {
                                std::vector<OutputSide> ways;
                                for (const std::vector<float>& values : given.unrounded) {
                                  ways.push_back({layout, bytes_of(values)});
                                }
                                return ways;
                              },
                          .open = [&] { return given.open; },
                          .rounds_to_half_between = !given.unrounded.empty()};
  OutputResult output;
  judge_output(sides, {}, CheckSettings{}, output);
  result.judgement = output.judgement;
  return result;
}

}  // namespace

TEST_CASE("equal sides match without a further run, their controls included") {
  const Judged floats = judged({.sides = Sides::floats({1, 2, 3}, {1, 2, 3})});
  CHECK(floats.judgement.verdict == Verdict::kMatch);
  const Judged integers = judged({.sides = Sides::integers({1, 2, 3}, {1, 2, 3})});
  CHECK(integers.judgement.verdict == Verdict::kMatch);
  for (const Judged& result : {floats, integers}) {
    CHECK(result.asked_exact + result.asked_envelope + result.asked_span == 0);
  }
}

TEST_CASE("a kernel that the float64 opinion settles is not asked for its envelope") {
  const float off = std::nextafter(1.0F, 2.0F) + 2e-7F;  // three units, which the screen refuses
  const Judged result = judged({.sides = Sides::floats({off, 2}, {1, 2}), .exact = {1, 2}});
  CHECK(result.judgement.verdict == Verdict::kMatch);
  CHECK(result.asked_exact == 1);
  CHECK(result.asked_envelope == 0);
}

TEST_CASE("an output of nothing but zeros shows nothing") {
  CHECK(judged({.sides = Sides::floats({0, 0}, {0, 0})}).judgement.verdict ==
        Verdict::kShowsNothing);
  CHECK(judged({.sides = Sides::integers({0, 0}, {0, 0})}).judgement.verdict ==
        Verdict::kShowsNothing);
}

TEST_CASE("an envelope so wide that zeros pass as well shows nothing") {
  const Judged result =
      judged({.sides = Sides::floats({1.5F, 2}, {1, 2}), .exact = {1, 2}, .envelope = {8, 8}});
  CHECK(result.judgement.verdict != Verdict::kMatch);
  CHECK(result.judgement.message.find("zeros in place of its values pass too") !=
        std::string::npos);
}

TEST_CASE("equal sides of a fragment without a float64 form match") {
  const Judged result = judged({.sides = Sides::floats({1, 2}, {1, 2}), .no_oracle = "reads bits"});
  CHECK(result.judgement.verdict == Verdict::kMatch);
}

TEST_CASE("unequal sides of a fragment without a float64 form have no oracle") {
  const Judged result =
      judged({.sides = Sides::floats({1.5F, 2}, {1, 2}), .no_oracle = "reads bits"});
  CHECK(result.judgement.verdict == Verdict::kNoOracle);
}

TEST_CASE("a large integer that is off by one is wrong, although float64 cannot tell the two") {
  const std::int64_t large = std::int64_t{1} << 58;
  const auto as_float64 = static_cast<double>(large);
  const Judged result = judged(
      {.sides = Sides::integers({large + 1}, {large}), .span = {{as_float64}, {as_float64}}});
  CHECK(result.judgement.verdict == Verdict::kKernelWrong);
}

TEST_CASE("an integer that free runs give too is a decision that rounding moved") {
  const Judged result =
      judged({.sides = Sides::integers({4, 7}, {3, 7}), .span = {{3, 7}, {4, 7}}});
  CHECK(result.judgement.verdict == Verdict::kNoiseMagnified);
  CHECK(result.asked_span == 1);
}

TEST_CASE(
    "a kernel that gives what the fragment gives without half-precision rounding is by design") {
  const Judged result = judged({.sides = Sides::floats({300, 2}, {INFINITY, 2}),
                                .exact = {300, 2},
                                .unrounded = {{300, 2}}});
  CHECK(result.judgement.verdict == Verdict::kPrecisionCasts);
  CHECK(result.judgement.difference == DifferenceKind::kInf);
  CHECK(result.judgement.worst_element == 0);
}

TEST_CASE("one of the ways to leave half-precision rounding out is enough") {
  const Judged result = judged({.sides = Sides::floats({300, 2}, {INFINITY, 2}),
                                .exact = {300, 2},
                                .unrounded = {{310, 2}, {300, 2}}});
  CHECK(result.judgement.verdict == Verdict::kPrecisionCasts);
}

TEST_CASE("a kernel that is wrong without half-precision rounding too stays wrong") {
  const Judged result = judged({.sides = Sides::floats({310, 2}, {INFINITY, 2}),
                                .exact = {300, 2},
                                .unrounded = {{300, 2}}});
  CHECK(result.judgement.verdict == Verdict::kKernelWrong);
}

TEST_CASE("elements that PyTorch leaves open may hold anything, and the sentence is given") {
  constexpr std::byte kYes{1}, kNo{0};
  const Judged open = judged(
      {.sides = Sides::integers({127, 5}, {-56, 5}), .open = {{kYes, kNo}, {"C++ says so"}}});
  CHECK(open.judgement.verdict == Verdict::kUnspecified);
  CHECK(open.judgement.message.find("C++ says so") != std::string::npos);
  const Judged other = judged(
      {.sides = Sides::integers({127, 6}, {-56, 5}), .open = {{kYes, kNo}, {"C++ says so"}}});
  CHECK(other.judgement.verdict == Verdict::kKernelWrong);
}

TEST_CASE("beside what is open, rounding may explain the rest, and nothing else does") {
  constexpr std::byte kYes{1}, kNo{0};
  // The second element is an integer that free runs give, too.
  Case given = {.sides = Sides::integers({127, 6, 9}, {-56, 5, 9}),
                .exact = {127, 5.9, 9},
                .span = {{-56, 5, 9}, {-56, 6, 9}},
                .open = {{kYes, kNo, kNo}, {"C++ says so"}}};
  const Judged explained = judged(given);
  CHECK(explained.judgement.verdict == Verdict::kUnspecified);
  CHECK(explained.judgement.message.find("C++ says so. Of the others, ") != std::string::npos);
  given.sides = Sides::integers({127, 6, 8}, {-56, 5, 9});
  CHECK(judged(given).judgement.verdict == Verdict::kKernelWrong);
}
