#include "tensor/size.h"

#include <doctest/doctest.h>

#include "base/error.h"

namespace fuseproof {
namespace {

Size size(const char* text) { return Size::parse(text); }

TEST_CASE("sizes that are equal for all symbols are equal") {
  CHECK(size("s0*s1*4") == size("4*s1*s0"));
  CHECK(size("s0 + s1") == size("s1 + s0"));
  CHECK(size("(s0 + 1)*(s0 - 1)") == size("s0**2 - 1"));
  CHECK(size("2*(s0 + 3) - 6") == size("2*s0"));
  CHECK(size("(s0//2)") == size("FloorDiv(s0, 2)"));
  CHECK(size("((s0 + s1)//2)") == size("FloorDiv(s1 + s0, 2)"));
  CHECK(size("Max(1, u0)") == size("Max(u0, 1)"));
  CHECK(size("PythonMod(s0, 4)") == size("s0 % 4"));
  CHECK(size("CleanDiv(s0*s1, 2)") == size("s1*CleanDiv(s0, 2)"));
  CHECK(size("s0 - s0") == Size(0));
  CHECK(size("FloorDiv(FloorDiv(s0*s1, 4) + 1, 2)") == size("FloorDiv(s0*s1/4 + 1, 2)"));
  CHECK(size("FloorDiv(FloorDiv(s0, 3), 2)") == size("FloorDiv(s0, 6)"));
  CHECK(size("FloorDiv(s0/4 + 1, 2)") == size("FloorDiv(s0 + 4, 8)"));
  CHECK(size("FloorDiv(4*s0 + 2, 6)") == size("FloorDiv(2*s0 + 1, 3)"));
  CHECK(size("FloorDiv(6*s0 + 2, 2)") == size("3*s0 + 1"));
  CHECK(size("FloorDiv(2*FloorDiv(s0, 3), 4)") == size("FloorDiv(s0, 6)"));
}

TEST_CASE("sizes that may differ are not equal") {
  CHECK(size("s0") != size("s1"));
  CHECK(size("s0") != Size(8));
  CHECK(size("s0*(s1//2)") != size("((s0*s1)//2)"));
  CHECK(size("s0") != size("Max(1, s0)"));
  CHECK(size("s0**2") != size("s0"));
  CHECK(size("FloorDiv(2*FloorDiv(s0, 4) + 1, 2)") != size("FloorDiv(s0/2 + 1, 2)"));
  CHECK(size("FloorDiv(FloorDiv(s0, 4) + s1/2, 2)") != size("FloorDiv(s0 + 2*s1, 8)"));
  CHECK(size("FloorDiv(FloorDiv(s0, s1) + 1, 2)") != size("FloorDiv(s0 + s1, 2*s1)"));
}

TEST_CASE("a number stays one") {
  CHECK(Size(12).number() == 12);
  CHECK(size("3*4").number() == 12);
  CHECK(size("7//2").number() == 3);
  CHECK(size("Max(3, 5)").number() == 5);
  CHECK_FALSE(size("s0").number().has_value());
  CHECK(to_json(Size(12)) == Json(12));
  CHECK(to_json(size("1 + s0")) == Json("s0 + 1"));
}

TEST_CASE("a text can be read again") {
  for (const char* text :
       {"s0", "4*s0*s1 - s1 + 3", "s0*(s0 - 1)/2", "(s0//2)", "-s0 + s1",
        "ModularIndexing(s0 + 1, 2, 4)", "Where(s0 < 8, s0, 8)", "s0**20",
        "Where((s0 > 3) & (s1 > 3), s0, -s1)", "TruncToInt(2.5*ToFloat(s0))",
        "FloorDiv(FloorDiv(s0*s1, 4) + 1, 2)", "FloorDiv(s0*s1 + 5, 4)",
        "FloorDiv(2*FloorDiv(s0, 3), 4)", "FloorDiv(FloorDiv(s0, 4611686018427387904), 4)",
        "FloorDiv(FloorDiv(s0 - 11, 3) - FloorDiv(s1 + 1, 2) - 2, 5)"}) {
    CAPTURE(text);
    CHECK(Size::parse(size(text).text()) == size(text));
    for (std::int64_t s0 = 1; s0 < 9; ++s0) {
      const SymbolValues call = {{"s0", s0}, {"s1", 4}};
      CHECK(size(text).value(call) == evaluate_integer(text, call));
    }
  }
}

TEST_CASE("what is positive for all sizes is known to be") {
  CHECK(size("s0").is_surely_positive());
  CHECK(size("s0*s1 - s1 + 1").is_surely_positive());
  CHECK(Size(1).is_surely_positive());
  CHECK_FALSE(Size(0).is_surely_positive());
  CHECK_FALSE(size("s0 - s1").is_surely_positive());
  CHECK_FALSE(size("s0 - 1").is_surely_positive());
}

TEST_CASE("a size that is linear in a symbol splits into coefficient and rest") {
  const auto linear = size("4*s0*s1 + 2*s0 + s1**2 + 3").linear_in("s0");
  REQUIRE(linear.has_value());
  CHECK(linear->coefficient == size("4*s1 + 2"));
  CHECK(linear->rest == size("s1**2 + 3"));
  CHECK(size("s1 + 1").linear_in("s0")->coefficient == Size(0));
  CHECK_FALSE(size("s0**2").linear_in("s0").has_value());
  CHECK_FALSE(size("ModularIndexing(s0, 1, 4)").linear_in("s0").has_value());
}

TEST_CASE("what would grow without bounds when multiplied out is refused") {
  const char* text = "((a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p)**4)**4";
  CHECK_THROWS_WITH_AS(size(text), doctest::Contains("products"), Error);
}

TEST_CASE("what is neither a number nor an expression is refused") {
  for (const Json& value : {Json(1.5), Json(), Json("s0 +"), Json::array()}) {
    CAPTURE(value);
    CHECK_THROWS_WITH_AS(size_from_json(value, "here"), doctest::Contains("here"), Error);
  }
}

}  // namespace
}  // namespace fuseproof
