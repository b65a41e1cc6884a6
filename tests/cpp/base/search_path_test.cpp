#include "base/search_path.h"

#include <doctest/doctest.h>

using namespace fuseproof;

TEST_CASE("programs are found in PATH, and only there") {
  REQUIRE(find_program("sh"));
  CHECK(find_program("sh")->is_absolute());
  CHECK_FALSE(find_program("no-such-program-anywhere"));
}
