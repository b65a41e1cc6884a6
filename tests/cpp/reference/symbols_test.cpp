#include "reference/symbols.h"

#include <doctest/doctest.h>

#include "base/error.h"

namespace fuseproof {
namespace {

const std::map<std::string, std::int64_t> kSymbols = {{"s0", 7}, {"s77", 3}, {"u0", 0}};

TEST_CASE("symbolic sizes are evaluated as Python does") {
  CHECK(evaluate("s0", kSymbols) == 7);
  CHECK(evaluate("2*s0 + s77 - 1", kSymbols) == 16);
  CHECK(evaluate("s0 - s77 - 1", kSymbols) == 3);
  CHECK(evaluate("(s0 + 1)*(s77 - 1)", kSymbols) == 16);
  CHECK(evaluate("-s0 // 2", kSymbols) == -4);
  CHECK(evaluate("-s77**2", kSymbols) == -9);
  CHECK(evaluate("2**s77**2", kSymbols) == 512);
  CHECK(evaluate("FloorDiv(1 - s0, 4)", kSymbols) == -2);
  CHECK(evaluate("CeilDiv(s0, 2)", kSymbols) == 4);
  CHECK(evaluate("Mod(s0, 4)", kSymbols) == 3);
  CHECK(evaluate("(-s0) % 4", kSymbols) == 1);
  CHECK(evaluate("Max(1, s77, Min(s0, 5))", kSymbols) == 5);
}

TEST_CASE("a symbol without a value is named") {
  CHECK_THROWS_WITH_AS(evaluate("s0 + s5", kSymbols), doctest::Contains("needs `s5`"), Error);
}

TEST_CASE("what cannot be evaluated is refused whole") {
  for (const char* text : {"", "s0 +", "s0 s77", "(s0", "sin(s0)", "s0 // u0", "1.5*s0", "Mod(s0)",
                           "2**(-1)", "0x10"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(evaluate(text, kSymbols), Error);
  }
}

}  // namespace
}  // namespace fuseproof
