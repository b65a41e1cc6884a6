#include "graph/graph.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "base/error.h"

using namespace fuseproof;

namespace {

Argument round_trip(const Argument& argument) {
  const Json json = parse_json(to_json(argument).dump(), "test");
  return argument_from_json(json, "test");
}

Graph parsed(const std::string& text) {
  const Json json = parse_json(text, "g.json");
  return graph_from_json(JsonObject(json, "g.json"));
}

}  // namespace

TEST_CASE("every kind of argument survives JSON") {
  const Argument list = {ArgumentList{{NodeRef{"x"}}, {None{}}, {std::int64_t{-3}}}};
  const std::vector<Argument> arguments = {
      {None{}},
      {true},
      {std::int64_t{3}},
      {3.0},
      {0.1},
      {std::string("mean")},
      {Complex{1.5, -2}},
      {NodeRef{"add_1"}},
      {SubgraphRef{"true_graph_0"}},
      {TorchConstant{"dtype", "float32"}},
      {TorchConstant{"operator", "aten.sin.default"}},
      {TorchConstant{"device", "cpu"}},
      {TorchConstant{"memory_format", "channels_last"}},
      {Symbol{"s0 + 1", 9}},
      {Symbol{"u0", std::nullopt}},
      list,
  };
  for (const Argument& argument : arguments) CHECK(round_trip(argument) == argument);
}

TEST_CASE("floats that JSON cannot write survive") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(std::get<double>(round_trip({kInfinity}).value) == kInfinity);
  CHECK(std::get<double>(round_trip({-kInfinity}).value) == -kInfinity);
  CHECK(std::isnan(std::get<double>(round_trip({std::nan("")}).value)));
  const auto complex = std::get<Complex>(round_trip({Complex{kInfinity, std::nan("")}}).value);
  CHECK(complex.real == kInfinity);
  CHECK(std::isnan(complex.imag));
}

TEST_CASE("a whole float stays a float, and an int an int") {
  CHECK(std::holds_alternative<double>(round_trip({2.0}).value));
  CHECK(std::holds_alternative<std::int64_t>(round_trip({std::int64_t{2}}).value));
  CHECK(std::signbit(std::get<double>(round_trip({-0.0}).value)));
}

TEST_CASE("a graph survives JSON with metadata, keywords and source lines") {
  const std::string text = R"json({"nodes": [
    {"name": "x", "kind": "placeholder", "values": [
      {"dtype": "float32", "shape": [2], "strides": [1], "offset": 0}]},
    {"name": "max_1", "kind": "call", "target": "aten.max.dim", "arguments": [{"node": "x"}, 0],
     "keywords": {"keepdim": true}, "is_tuple": true, "values": [
      {"dtype": "float32", "shape": [1], "strides": [1], "offset": 0}, null],
     "source": {"file": "model.py", "line": 7, "text": "return x.max(0)"}}]})json";
  const Graph graph = parsed(text);
  const Json again = to_json(graph);
  CHECK(to_json(graph_from_json(JsonObject(again, "again"))) == again);
  const Node* node = graph.find("max_1");
  REQUIRE(node != nullptr);
  CHECK(node->values.size() == 2);
  CHECK_FALSE(node->values[1]);
  CHECK(node->source_line == 7);
  CHECK(to_string(*node) == "max_1 = aten.max.dim(x, 0, keepdim=True)");
}

TEST_CASE("references in nested lists are visited in order") {
  const Node node = {.name = "cat",
                     .target = "aten.cat.default",
                     .arguments = {{ArgumentList{{NodeRef{"a"}}, {NodeRef{"b"}}}}},
                     .keywords = {{"out", {NodeRef{"c"}}}}};
  std::string visited;
  for_each_node_ref(node, [&](const NodeRef& ref) { visited += ref.name; });
  CHECK(visited == "abc");
}

TEST_CASE("malformed graphs are refused with the node's place") {
  CHECK_THROWS_WITH(
      parsed(R"({"nodes": [{"name": "y", "kind": "call", "target": "aten.relu.default",
                            "arguments": [{"node": "x"}]}]})"),
      "g.json: `nodes[0]`: field `arguments` refers to `x`, which no earlier node defines");
  CHECK_THROWS_WITH(parsed(R"({"nodes": [{"name": "x", "kind": "placeholder"},
                                         {"name": "x", "kind": "placeholder"}]})"),
                    "g.json: `nodes[1]`: field `name` repeats an earlier node's");
  CHECK_THROWS_WITH(parsed(R"({"nodes": [{"name": "x", "kind": "loop"}]})"),
                    "g.json: `nodes[0]`: field `kind` is `loop`, which is no kind of node");
  CHECK_THROWS_AS(parsed(R"({"nodes": [{"name": "x", "kind": "call", "target": "t",
                                        "arguments": [{"unknown": 1}]}]})"),
                  Error);
}

TEST_CASE("graphs that a call may call survive JSON, nested ones too") {
  const std::string text = R"json({
    "nodes": [{"name": "x", "kind": "placeholder"},
      {"name": "cond", "kind": "call", "target": "python:torch.ops.higher_order.cond",
       "arguments": [{"node": "x"}, {"subgraph": "a"}, {"subgraph": "b"}, [{"node": "x"}]]}],
    "subgraphs": {
      "a": {"nodes": [{"name": "x", "kind": "placeholder"},
                      {"name": "loop", "kind": "call", "target": "f",
                       "keywords": {"body": {"subgraph": "a"}}}],
            "subgraphs": {"a": {"nodes": []}}},
      "b": {"nodes": [{"name": "y", "kind": "placeholder"}]}}})json";
  const Graph graph = parsed(text);
  CHECK(graph.subgraphs.size() == 2);
  CHECK(graph.subgraphs.at("b").nodes.front().name == "y");
  CHECK(graph.subgraphs.at("a").subgraphs.contains("a"));
  CHECK_FALSE(takes_subgraphs(graph.nodes[0]));
  CHECK(takes_subgraphs(graph.nodes[1]));
  CHECK(takes_subgraphs(graph.subgraphs.at("a").nodes[1]));
  CHECK(to_string(graph.nodes[1]) == "cond = python:torch.ops.higher_order.cond(x, a, b, [x])");
  const Json again = to_json(graph);
  CHECK(to_json(graph_from_json(JsonObject(again, "again"))) == again);
}

TEST_CASE("a graph that is named and not there is refused, wherever the name stands") {
  CHECK_THROWS_WITH_AS(parsed(R"({"nodes": [{"name": "x", "kind": "call", "target": "f",
                            "arguments": [[{"subgraph": "a"}]]}]})"),
                       doctest::Contains("names the sub-graph `a`, which is not there"), Error);
  // One of the graph around it is none of its own.
  CHECK_THROWS_AS(parsed(R"({"nodes": [], "subgraphs": {"a": {"nodes": [
                 {"name": "x", "kind": "call", "target": "f", "arguments": [{"subgraph": "a"}]}]}}})"),
                  Error);
}
