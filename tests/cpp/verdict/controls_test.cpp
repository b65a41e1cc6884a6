#include "verdict/controls.h"

#include <doctest/doctest.h>

#include "evidence_fixture.h"

using namespace fuseproof;

namespace {

bool never(std::span<const std::byte>) { return false; }
bool always(std::span<const std::byte>) { return true; }

}  // namespace

TEST_CASE("a check that can fail has no passing control") {
  const auto sides = Sides::floats({1, 2}, {1, 2});
  CHECK(passing_control(sides.evidence(), {}, never).empty());
}

TEST_CASE("criteria that let anything pass are caught by the zeros") {
  const auto sides = Sides::floats({1, 2}, {1, 2});
  CHECK(passing_control(sides.evidence(), {}, always) == "zeros in place of its values pass too");
}

TEST_CASE("criteria that are blind to order are caught by the rotation") {
  const auto sides = Sides::floats({1, 2}, {1, 2});
  const auto has_both = [](std::span<const std::byte> bytes) { return bytes[3] != std::byte{0}; };
  CHECK(passing_control(sides.evidence(), {}, has_both) == "its values in another order pass too");
}

TEST_CASE("a rotation that hardly changes anything is no control") {
  const auto sides = Sides::floats({1, 1.0000001F}, {1, 1.0000001F});
  const auto not_zero = [](std::span<const std::byte> bytes) { return bytes[3] != std::byte{0}; };
  CHECK(passing_control(sides.evidence(), {}, not_zero).empty());
}

TEST_CASE("another output of the same dtype and size is a control") {
  const auto sides = Sides::floats({1, 1}, {1, 1});
  const auto other = Sides::floats({5, 5}, {5, 5});
  const auto not_zero = [](std::span<const std::byte> bytes) { return bytes[3] != std::byte{0}; };
  CHECK(passing_control(sides.evidence(), {other.evidence().eager}, not_zero) ==
        "another output's values pass too");
}

TEST_CASE("an empty output needs no control") {
  CHECK(passing_control(Sides::floats({}, {}).evidence(), {}, always).empty());
}
