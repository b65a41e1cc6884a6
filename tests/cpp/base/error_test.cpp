#include "base/error.h"

#include <doctest/doctest.h>

using namespace fuseproof;

TEST_CASE("every kind has its row, its name leads back to it, and its exit status is documented") {
  for (const ErrorKind kind : {ErrorKind::kUsage, ErrorKind::kBadInput, ErrorKind::kUnsupported,
                               ErrorKind::kIo, ErrorKind::kInternal}) {
    const ErrorKindInfo& info = error_kind_info(kind);
    CHECK(info.kind == kind);
    CHECK(error_kind_from_name(info.name) == kind);
    CHECK((info.exit_status == 2 || info.exit_status == 3));
  }
}

TEST_CASE("a kind that this version does not know is an internal error") {
  CHECK(error_kind_from_name("of a later version") == ErrorKind::kInternal);
}
