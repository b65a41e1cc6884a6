#include "tensor/hash.h"

#include <doctest/doctest.h>

using namespace fuseproof;

// Expected values: `xxhsum -H128` of xxHash 0.8.1 on the same bytes.
TEST_CASE("hashes are those that the xxhsum tool prints") {
  CHECK(xxh128_hex(std::string_view("")) == "99aa06d3014798d86001c324468d497f");
  CHECK(xxh128_hex(std::string_view("abc")) == "06b05ab6733a618578af5f94892f3950");
}
