#include "bundle/kernel_spec.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "small_run.h"

using namespace fuseproof;

namespace {

KernelSpec parsed(const Json& json) {
  return kernel_spec_from_json(JsonObject(json, "kernel.json"));
}

}  // namespace

TEST_CASE("a spec survives JSON") {
  KernelSpec spec = add_spec();
  spec.symbol_hints = {{"s0", 8}};
  spec.arguments[1].aliases = {"arg1_1", "buf0"};
  const Json json = to_json(spec);
  CHECK(to_json(parsed(json)) == json);
}

TEST_CASE("fields of a newer minor version are kept") {
  Json json = to_json(add_spec());
  json["version"] = "1.7";
  json["invented_later"] = {{"x", 1}};
  const KernelSpec spec = parsed(json);
  CHECK(spec.version_minor == 7);
  CHECK(to_json(spec)["invented_later"]["x"] == 1);
}

TEST_CASE("a newer major version is refused with advice") {
  Json json = to_json(add_spec());
  json["version"] = "2.0";
  try {
    parsed(json);
    FAIL("no error was thrown");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUnsupported);
    CHECK(std::string(error.what()).find("Update Fuseproof") != std::string::npos);
  }
}

TEST_CASE("malformed fields are named") {
  Json json = to_json(add_spec());
  json["version"] = "one";
  CHECK_THROWS_WITH(parsed(json), "kernel.json: field `version` is `one`, not MAJOR.MINOR");
  json = to_json(add_spec());
  json["arguments"][0]["role"] = "both";
  CHECK_THROWS_WITH(parsed(json),
                    "kernel.json: `arguments[0]`: field `role` is `both`; known roles are in, out, "
                    "inout and size");
  json = to_json(add_spec());
  json.erase("artifact");
  CHECK_THROWS_WITH(parsed(json), "kernel.json: field `artifact` is missing");
}

TEST_CASE("a bundle names no file outside its folder") {
  for (const char* field : {"object_file", "source_file"}) {
    for (const char* name : {"../../etc/passwd", "/etc/passwd", "..", ".", "sub/kernel.so"}) {
      Json json = to_json(add_spec());
      json["artifact"][field] = name;
      CHECK_THROWS_AS(parsed(json), Error);
    }
  }
  Json json = to_json(add_spec());
  json["artifact"]["source_file"] = "";
  CHECK_THROWS_WITH(parsed(json), "kernel.json: `artifact`: field `source_file` is empty");
}
