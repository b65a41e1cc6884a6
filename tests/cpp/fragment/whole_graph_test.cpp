#include "fragment/whole_graph.h"

#include <doctest/doctest.h>

#include "records.h"

namespace fuseproof {
namespace {

using namespace fuseproof::testing;  // NOLINT: the vocabulary of these tests

Json output_of(const Json& results) {
  return {{"name", "output"},
          {"kind", "output"},
          {"arguments", Json::array({results})},
          {"keywords", Json::object()},
          {"values", Json::array()}};
}

Json ref(const std::string& node) { return {{"node", node}}; }

Json number_of(const std::string& name, const std::string& target, const std::string& operand,
               const std::string& expression) {
  return {{"name", name},
          {"kind", "call"},
          {"target", target},
          {"arguments", {ref(operand), 0}},
          {"keywords", Json::object()},
          {"values", Json::array()},
          {"number", {{"symbol", expression}}}};
}

TEST_CASE("results lie behind the arguments, in the order of the output node") {
  GraphWriter graph;
  graph.input("x").input("y").call("add", "aten.add.Tensor", {"x", "y"});
  graph.call("sin", "aten.sin.default", {"add"});
  graph.node(output_of({ref("sin"), ref("add"), ref("x")}));
  const Fragment fragment = whole_graph(graph.lowered());
  CHECK(inputs(fragment) == "x@0 y@1");
  CHECK(calls(fragment) == "add sin");
  CHECK(outputs(fragment) == "sin@2 add@3 x@4");
  CHECK(fragment.failure.empty());
}

TEST_CASE("an input that a call writes into is an output in its own place") {
  GraphWriter graph;
  graph.input("x").input("y").call("add", "aten.add.Tensor", {"x", "y"});
  graph.call("copy_", "aten.copy_.default", {"y", "add"});
  graph.set("mutations", {{"copy_", {"y"}}});
  graph.node(output_of(Json::array({ref("add")})));
  CHECK(outputs(whole_graph(graph.lowered())) == "add@2 y@1");
}

TEST_CASE("constants follow the placeholders, wherever they stand in the graph") {
  GraphWriter graph;
  graph.node({{"name", "c"}, {"kind", "constant"}, {"target", "c"}, {"values", {vector4()}}});
  graph.input("x").call("add", "aten.add.Tensor", {"x", "c"});
  graph.node(output_of({ref("add")}));
  CHECK(inputs(whole_graph(graph.lowered())) == "x@0 c@1");
}

TEST_CASE("a result that is no tensor keeps its place and is not checked") {
  GraphWriter graph;
  graph.input("x").call("sin", "aten.sin.default", {"x"});
  graph.node(output_of({nullptr, ref("sin"), 3}));
  const Fragment fragment = whole_graph(graph.lowered());
  CHECK(outputs(fragment) == "?@1 sin@2 ?@3");
  CHECK(fragment.outputs[0].reason == "it is a constant");
}

TEST_CASE("a size that the arguments show is a placeholder, one in the data is computed") {
  GraphWriter graph;
  graph.input("x", symbolic_layout({"s0"}, {1}));
  graph.node(number_of("size", "aten.sym_size.int", "x", "s0"));
  graph.call("nonzero", "aten.nonzero.default", {"x"}, symbolic_layout({"u0", 1}, {1, "u0"}));
  graph.node(number_of("count", "aten.sym_size.int", "nonzero", "u0"));
  graph.node(output_of({ref("nonzero")}));
  const Fragment fragment = whole_graph(graph.lowered());
  CHECK(inputs(fragment) == "x@0");
  CHECK(calls(fragment) == "nonzero count");
  REQUIRE(fragment.graph.find("size") != nullptr);
  CHECK(fragment.graph.find("size")->kind == NodeKind::kPlaceholder);
}

TEST_CASE("a call that could not be recorded is the graph's failure; a constant is its caller's") {
  GraphWriter graph;
  graph.input("x").call("odd", "python:mine.odd", {"x"});
  graph.node(
      {{"name", "branch"}, {"kind", "constant"}, {"target", "branch"}, {"values", Json::array()}});
  graph.node(output_of({ref("odd")}));
  graph.set("problems", {{"branch", "its value is no plain tensor"}});
  CHECK(whole_graph(graph.lowered()).failure.empty());
  CHECK(inputs(whole_graph(graph.lowered())) == "x@0");
  graph.set("problems", {{"odd", "it holds a slice"}});
  CHECK(whole_graph(graph.lowered()).failure ==
        "node `odd` (python:mine.odd) could not be recorded: it holds a slice");
}

}  // namespace
}  // namespace fuseproof
