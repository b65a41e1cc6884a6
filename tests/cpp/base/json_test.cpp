#include "base/json.h"

#include <doctest/doctest.h>

#include "base/error.h"

using namespace fuseproof;

TEST_CASE("a truncated document is an error that names its origin and says what to do") {
  try {
    parse_json("{\"a\": [1, 2", "run.json");
    FAIL("no error was thrown");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadInput);
    const std::string text = error.what();
    CHECK(text.starts_with("run.json: not valid JSON"));
    CHECK(text.find("capture again") != std::string::npos);
  }
}

TEST_CASE("a document that is nested without end is refused before anything recurses into it") {
  const std::string deep(400000, '[');
  try {
    parse_json(deep, "fragment.json");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadInput);
    CHECK(std::string(error.what()).starts_with("fragment.json: nested more than"));
  }
  CHECK(parse_json("[[[[1]]]]", "x").size() == 1);
}

TEST_CASE("errors of fields name the file, the path to the field and the problem") {
  const Json json = parse_json(R"({"outer": [{"size": "three"}], "count": -1})", "x.json");
  const JsonObject object(json, "x.json");
  CHECK_THROWS_WITH(object.objects("outer").front().integer("size"),
                    "x.json: `outer[0]`: field `size` is not an integer");
  CHECK_THROWS_WITH(object.string("name"), "x.json: field `name` is missing");
  CHECK_THROWS_WITH(object.size("count"), "x.json: field `count` is not a non-negative integer");
  CHECK_THROWS_WITH(object.integers("count"), "x.json: field `count` is not an array");
}

TEST_CASE("a default stands in for an absent field, never for one of the wrong type") {
  const Json json = parse_json(R"({"flag": 1})", "x.json");
  const JsonObject object(json, "x.json");
  CHECK(object.boolean_or("other", true));
  CHECK_THROWS_AS(object.boolean_or("flag", true), Error);
}

TEST_CASE("integers and floats stay apart") {
  const Json json = parse_json(R"({"i": 2, "f": 2.0})", "x.json");
  const JsonObject object(json, "x.json");
  CHECK(object.integer("i") == 2);
  CHECK_THROWS_AS(object.integer("f"), Error);
}

TEST_CASE("text that is not UTF-8 is replaced, not refused") {
  const Json json = {{"line", "caf\xe9"}};
  CHECK(json_text(json, -1) == "{\"line\":\"caf\xef\xbf\xbd\"}");
  CHECK(json_text({{"a", 1}}, 1) == "{\n \"a\": 1\n}");
}
