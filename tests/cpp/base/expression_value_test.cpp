#include "base/expression_value.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/expression_cases.h"

namespace fuseproof {
namespace {

const SymbolValues kSymbols = {{"s0", 7}, {"s77", 3}, {"u0", 0}, {"zf0", 0.5}};

TEST_CASE("integers have the values that sympy gives them") {
  for (const auto& [text, values] : testing::kIntegerCases) {
    CAPTURE(text);
    for (std::size_t i = 0; i < values.size(); ++i) {
      CHECK(evaluate_integer(text, testing::kExpressionCalls[i]) == values[i]);
    }
  }
}

TEST_CASE("floats have the values that Python gives them") {
  for (const auto& [text, values] : testing::kFloatCases) {
    CAPTURE(text);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Number number = evaluate(text, testing::kExpressionCalls[i]);
      CHECK(std::get<double>(number) == doctest::Approx(values[i]).epsilon(1e-15));
    }
  }
}

TEST_CASE("operators bind as in Python") {
  CHECK(evaluate_integer("2*s0 + s77 - 1", kSymbols) == 16);
  CHECK(evaluate_integer("s0 - s77 - 1", kSymbols) == 3);
  CHECK(evaluate_integer("(s0 + 1)*(s77 - 1)", kSymbols) == 16);
  CHECK(evaluate_integer("-s0 // 2", kSymbols) == -4);
  CHECK(evaluate_integer("-s77**2", kSymbols) == -9);
  CHECK(evaluate_integer("2**s77**2", kSymbols) == 512);
  CHECK(evaluate_integer("(-s0) % 4", kSymbols) == 1);
  CHECK(evaluate_integer("s0*s0//s77", kSymbols) == 16);
}

TEST_CASE("a branch that is not taken needs no value") {
  CHECK(evaluate_integer("Where(Eq(u0, 0), 5, s0//u0)", kSymbols) == 5);
}

TEST_CASE("a symbol without a value is named") {
  CHECK_THROWS_WITH_AS(evaluate("s0 + s5", kSymbols), doctest::Contains("needs `s5`"), Error);
}

TEST_CASE("what has no value is an error that says why") {
  const auto check = [](const char* text, const char* problem) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(evaluate_integer(text, kSymbols), doctest::Contains(problem), Error);
  };
  check("s0 // u0", "divides by zero");
  check("Mod(s0, u0)", "divides by zero");
  check("1/u0", "divides by zero");
  check("9223372036854775807 + s0", "overflows");
  check("s0**40", "overflows");
  check("TruncToInt(1e30*ToFloat(s0))", "overflows");
  check("s0/2", "no integer");
  check("FloorDiv(zf0, 2)", "needs an integer");
  check("zf0", "no integer");
}

TEST_CASE("what is no expression is refused whole") {
  for (const char* text : {"", "s0 +", "s0 s77", "(s0", "gamma(s0)", "Mod(s0)", "0x10", "s0 <",
                           "Where(s0, 1)", "f()", "s0 = 1"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(evaluate(text, kSymbols), Error);
  }
  CHECK_THROWS_AS(evaluate(std::string(100000, '(') + "s0", kSymbols), Error);
  CHECK_THROWS_AS(evaluate(std::string(100000, '-') + "s0", kSymbols), Error);
}

TEST_CASE("the symbols of an expression are found once each") {
  CHECK(symbols_in("Max(s1, s0*s1) + u0") == std::set<std::string>{"s0", "s1", "u0"});
  CHECK(symbols_in("3").empty());
}

}  // namespace
}  // namespace fuseproof
