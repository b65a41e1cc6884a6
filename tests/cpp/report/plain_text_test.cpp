#include "report/plain_text.h"

#include <doctest/doctest.h>

using namespace fuseproof;

TEST_CASE("escape sequences lose what makes them sequences") {
  CHECK(plain_text("\x1b[31mred\x1b[0m") == "[31mred[0m");
  CHECK(plain_text("a\rb\bc\x07\x7f") == "abc");
  CHECK(plain_text("\xc2\x9b"
                   "2J") == "2J");  // U+009B, the one-character form of ESC [
}

TEST_CASE("text in any script, line feeds and tabs stay") {
  const std::string text = "x = größe * 2\n\ty = \xe2\x82\xac \xc2\xa0\n";
  CHECK(plain_text(text) == text);
  CHECK(plain_text("\xc2") == "\xc2");
}
