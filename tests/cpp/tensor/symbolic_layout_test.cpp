#include "tensor/symbolic_layout.h"

#include <doctest/doctest.h>

#include "base/error.h"

namespace fuseproof {
namespace {

SymbolicLayout layout(const Json& shape, const Json& strides, const Json& offset = 0) {
  const Json json = {
      {"dtype", "float32"}, {"shape", shape}, {"strides", strides}, {"offset", offset}};
  return symbolic_layout_from_json({json, "layout"});
}

TEST_CASE("one call's symbols make a layout") {
  const SymbolicLayout half = layout({"s0 - (s0//2)", 6}, {6, 1}, "6*(s0//2)");
  const Layout at_nine = resolved(half, {{"s0", 9}}, "half");
  CHECK(at_nine.shape == std::vector<std::int64_t>{5, 6});
  CHECK(at_nine.offset == 24);
}

TEST_CASE("a layout without symbols is written as numbers") {
  const Json json = to_json(layout({2, 3}, {3, 1}, 4));
  CHECK(json == to_json(Layout{DType::kFloat32, {2, 3}, {3, 1}, 4}));
}

TEST_CASE("a symbolic layout survives JSON") {
  const SymbolicLayout written = layout({"s1", "2*s0"}, {"2*s0", 1}, "s0 + 1");
  const Json json = to_json(written);
  CHECK(symbolic_layout_from_json({json, "layout"}) == written);
}

TEST_CASE("layouts that no call can have are refused") {
  CHECK_THROWS_AS(layout({-1}, {1}), Error);
  CHECK_THROWS_AS(layout({"s0"}, {1, 1}), Error);
  CHECK_THROWS_WITH_AS(resolved(layout({"s0 - 4"}, {1}), {{"s0", 3}}, "view"),
                       doctest::Contains("view"), Error);
  CHECK_THROWS_WITH_AS(resolved(layout({"u0"}, {1}), {}, "view"), doctest::Contains("u0"), Error);
  CHECK_THROWS_AS(resolved(layout({"s0**2"}, {1}), {{"s0", 1L << 40}}, "view"), Error);
}

TEST_CASE("rows in order are contiguous whatever the sizes are") {
  CHECK(is_contiguous(layout({"s0", "s1"}, {"s1", 1})));
  CHECK(is_contiguous(layout({"s0", 1, "s1"}, {"s1", 7, 1})));
  CHECK_FALSE(is_contiguous(layout({"s0", "s1"}, {1, "s0"})));
  CHECK(contiguous_strides({Size::parse("s0"), Size::parse("s1"), 4}) ==
        std::vector<Size>{Size::parse("4*s1"), 4, 1});
}

TEST_CASE("a layout without two elements in one place is known to be so") {
  CHECK(is_injective(layout({"s0", "s1"}, {"s1", 1})));
  CHECK(is_injective(layout({"s0", "s1", "s2"}, {1, "s0*s2", "s0"})));
  CHECK(is_injective(layout({"s0", 6}, {8, 1})));
  CHECK_FALSE(is_injective(layout({"s0", "s1"}, {0, 1})));
  CHECK_FALSE(is_injective(layout({"s0", "s1"}, {"s0", 1})));
  CHECK_FALSE(is_injective(layout({"s0", 6}, {5, 1})));
}

}  // namespace
}  // namespace fuseproof
