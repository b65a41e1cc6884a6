#include <doctest/doctest.h>

#include "base/error.h"
#include "fragment/fragment.h"
#include "records.h"

namespace fuseproof {
namespace {

using fuseproof::testing::vector4;

Json sample() {
  return {
      {"graph",
       {{"nodes",
         {{{"name", "x"}, {"kind", "placeholder"}, {"values", {vector4()}}},
          {{"name", "sin"},
           {"kind", "call"},
           {"target", "aten.sin.default"},
           {"arguments", {{{"node", "x"}}}},
           {"keywords", Json::object()},
           {"values", {vector4()}}}}}}},
      {"inputs", {{{"node", "x"}, {"argument", 0}, {"layout", vector4()}}}},
      {"outputs",
       {{{"argument", 1}, {"buffer", "buf0"}, {"source", "fx"}, {"is_live", true}, {"node", "sin"}},
        {{"argument", 2},
         {"buffer", "buf1"},
         {"source", "unchecked"},
         {"is_live", false},
         {"reason", "why"}}}}};
}

TEST_CASE("a fragment survives being written and read") {
  const Json json = sample();
  const Fragment fragment = fragment_from_json({json, "fragment.json"});
  CHECK(fragment.inputs[0].layout.has_value());
  CHECK(fragment.outputs[0].source == OutputSource::kFx);
  CHECK(fragment.outputs[1].reason == "why");
  CHECK(to_json(fragment) == json);
}

TEST_CASE("a binding to a node that is not there is refused with file and field") {
  Json json = sample();
  json["inputs"][0]["node"] = "y";
  try {
    fragment_from_json({json, "RUN/fragment.json"});
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadInput);
    const std::string message = error.what();
    CHECK(message.find("RUN/fragment.json") != std::string::npos);
    CHECK(message.find("node") != std::string::npos);
  }
}

TEST_CASE("a negative argument and an unknown source are refused") {
  Json negative = sample();
  negative["outputs"][0]["argument"] = -1;
  CHECK_THROWS_AS(fragment_from_json({negative, "fragment.json"}), Error);
  Json unknown = sample();
  unknown["outputs"][0]["source"] = "guess";
  CHECK_THROWS_AS(fragment_from_json({unknown, "fragment.json"}), Error);
}

}  // namespace
}  // namespace fuseproof
