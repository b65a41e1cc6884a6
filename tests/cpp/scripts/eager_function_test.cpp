#include "scripts/eager_function.h"

#include <doctest/doctest.h>

#include "fragment/records.h"

namespace fuseproof {
namespace {

FragmentOutput output_of(const std::string& node) {
  return {.argument = 1,
          .buffer = "buf0",
          .source = OutputSource::kFx,
          .node = node,
          .layout = {},
          .is_live = true,
          .reason = {}};
}

// The writer's graph, whose outputs are the nodes named.
Fragment fragment_of(const testing::GraphWriter& graph, const std::vector<std::string>& outputs) {
  Fragment fragment;
  fragment.graph = graph.lowered().graph;
  for (const std::string& node : outputs) fragment.outputs.push_back(output_of(node));
  return fragment;
}

std::string code_of(const Fragment& fragment, const SymbolValues& symbols = {}) {
  const EagerFunction function = eager_function(fragment, symbols, {});
  CHECK(function.failure == "");
  return function.code;
}

std::string failure_of(const Fragment& fragment) {
  const EagerFunction function = eager_function(fragment, {}, {});
  CHECK(function.code == "");
  return function.failure;
}

Json call_node(const std::string& target, const Json& arguments, const Json& keywords) {
  return {{"name", "c"},          {"kind", "call"},
          {"target", target},     {"arguments", arguments},
          {"keywords", keywords}, {"values", {testing::vector4()}}};
}

}  // namespace

TEST_CASE("calls in order, inputs and outputs as tuples") {
  testing::GraphWriter graph;
  graph.input("x").input("y").call("add", "aten.add.Tensor", {"x", "y"});
  graph.call("relu", "aten.relu.default", {"add"});
  CHECK(code_of(fragment_of(graph, {"relu", "add"})) ==
        "def eager_fn(inputs):\n"
        "    x, y = inputs\n"
        "    add = torch.ops.aten.add.Tensor(x, y)\n"
        "    relu = torch.ops.aten.relu.default(add)\n"
        "    return (relu, add)\n");
  testing::GraphWriter one;
  one.input("x").call("sin", "aten.sin.default", {"x"});
  CHECK(code_of(fragment_of(one, {"sin"})) ==
        "def eager_fn(inputs):\n"
        "    (x,) = inputs\n"
        "    sin = torch.ops.aten.sin.default(x)\n"
        "    return (sin,)\n");
}

TEST_CASE("every kind of argument is Python's") {
  testing::GraphWriter graph;
  graph.input("x").node(call_node("aten.f.default",
                                  {{{"node", "x"}},
                                   nullptr,
                                   true,
                                   3,
                                   2.0,
                                   "mean",
                                   {{"float", "-inf"}},
                                   {{"complex", {1.0, -2.0}}},
                                   {1, {{"symbol", "2*s0"}, {"hint", 8}}}},
                                  {{"dtype", {{"dtype", "float32"}}},
                                   {"device", {{"device", "cuda:1"}}},
                                   {"memory_format", {{"memory_format", "channels_last"}}}}));
  CHECK(code_of(fragment_of(graph, {"c"}), {{"s0", std::int64_t{5}}}) ==
        "def eager_fn(inputs):\n"
        "    (x,) = inputs\n"
        "    c = torch.ops.aten.f.default(\n"
        "        x,\n        None,\n        True,\n        3,\n        2.0,\n        \"mean\",\n"
        "        float(\"-inf\"),\n        complex(1.0, -2.0),\n        [1, 10],\n"
        "        dtype=torch.float32,\n        device=torch.device(\"cuda\"),\n"
        "        memory_format=torch.channels_last,\n"
        "    )\n"
        "    return (c,)\n");
}

TEST_CASE("numbers among tensors are tensors where torch.ops would refuse them") {
  const auto line = [](const std::string& target, const Json& second) {
    testing::GraphWriter graph;
    graph.input("x", testing::layout({4}, {1}, 0, "bfloat16"));
    graph.node(call_node(target, {{{"node", "x"}}, second}, Json::object()));
    const std::string code = code_of(fragment_of(graph, {"c"}));
    const std::size_t begin = code.find("    c = torch.ops.") + 18;
    return code.substr(begin, code.find('\n', begin) - begin);
  };
  CHECK(line("aten.le.Tensor", 0.5) ==
        "aten.le.Tensor(x, torch.scalar_tensor(0.5, dtype=torch.bfloat16))");
  CHECK(line("aten.pow.Tensor_Tensor", 2) ==
        "aten.pow.Tensor_Tensor(x, torch.scalar_tensor(2, dtype=torch.int64))");
  CHECK(line("aten.logical_and.default", true) ==
        "aten.logical_and.default(x, torch.scalar_tensor(True, dtype=torch.bool))");
  CHECK(line("aten.add.Tensor", 0.5) == "aten.add.Tensor(x, 0.5)");
  CHECK(line("aten.le.Scalar", 0.5) == "aten.le.Scalar(x, 0.5)");
}

TEST_CASE("names that Python or the function need are left to them") {
  testing::GraphWriter graph;
  graph.input("inputs").call("lambda", "aten.sin.default", {"inputs"});
  graph.call("b.0", "aten.cos.default", {"lambda"}).call("b_0", "aten.cos.default", {"b.0"});
  CHECK(code_of(fragment_of(graph, {"b_0"})) ==
        "def eager_fn(inputs):\n"
        "    (inputs_,) = inputs\n"
        "    lambda_ = torch.ops.aten.sin.default(inputs_)\n"
        "    b_0 = torch.ops.aten.cos.default(lambda_)\n"
        "    b_0_ = torch.ops.aten.cos.default(b_0)\n"
        "    return (b_0_,)\n");
}

TEST_CASE("constants whose values are known stand in the function, and are no inputs") {
  testing::GraphWriter graph;
  graph.input("x");
  graph.node({{"name", "k"}, {"kind", "constant"}, {"values", {testing::vector4()}}});
  graph.call("add", "aten.add.Tensor", {"x", "k"});
  const EagerFunction function =
      eager_function(fragment_of(graph, {"add"}), {}, {{"k", "torch.tensor(1.0)"}});
  CHECK(function.code ==
        "def eager_fn(inputs):\n"
        "    (x,) = inputs\n"
        "    k = torch.tensor(1.0)\n"
        "    add = torch.ops.aten.add.Tensor(x, k)\n"
        "    return (add,)\n");
  CHECK(function.inputs == std::vector<std::string>{"x"});
}

TEST_CASE("what cannot be written is no function, and says why") {
  testing::GraphWriter sin;
  sin.input("x").call("sin", "aten.sin.default", {"x"});
  CHECK(failure_of(fragment_of(sin, {})) == "the kernel's outputs could not be determined");
  Fragment unchecked = fragment_of(sin, {"sin"});
  unchecked.outputs.push_back({.argument = 2,
                               .buffer = "buf1",
                               .source = OutputSource::kUnchecked,
                               .node = {},
                               .layout = {},
                               .is_live = true,
                               .reason = "no value"});
  CHECK(failure_of(unchecked) == "output buf1 could not be determined: no value");
  testing::GraphWriter copy;
  copy.input("x");
  CHECK(failure_of(fragment_of(copy, {"x"})) == "the kernel has no origin among the graph's calls");
  testing::GraphWriter custom;
  custom.input("x").call("mine", "mylib.mine.default", {"x"});
  CHECK(failure_of(fragment_of(custom, {"mine"})) ==
        "node mine calls mylib.mine.default, which is no operator of torch's own");
  testing::GraphWriter random;
  random.input("seed").call("r", "prims.inductor_random.default", {"seed"});
  CHECK(failure_of(fragment_of(random, {"r"})) ==
        "node r draws random numbers, which eager draws in another way");
}

TEST_CASE("text of a bundle does not become code") {
  testing::GraphWriter target;
  target.input("x").call("c", "aten.sin(); import os; os.system", {"x"});
  CHECK(failure_of(fragment_of(target, {"c"})) ==
        "node c names aten.sin(); import os; os.system, which cannot be written");
  testing::GraphWriter keyword;
  keyword.input("x").node(call_node("aten.f.default", {{{"node", "x"}}}, {{"a=1, b", 2}}));
  CHECK(failure_of(fragment_of(keyword, {"c"})) == "node c names a=1, b, which cannot be written");
  testing::GraphWriter dtype;
  dtype.input("x").node(
      call_node("aten.f.default", {{{"node", "x"}}}, {{"dtype", {{"layout", "x(); y"}}}}));
  CHECK(failure_of(fragment_of(dtype, {"c"})) ==
        "an argument names x(); y, which cannot be written");
}

}  // namespace fuseproof
