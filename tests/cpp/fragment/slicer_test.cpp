#include "fragment/slicer.h"

#include <doctest/doctest.h>

#include "records.h"

namespace fuseproof {
namespace {

using namespace fuseproof::testing;  // NOLINT: the vocabulary of these tests

Fragment fragment_of(const GraphWriter& graph, const KernelWriter& kernel) {
  return slice(graph.lowered(), kernel.record()).fragment;
}

TEST_CASE("a chain of calls stops at the kernel's arguments") {
  GraphWriter graph;
  graph.input("x").input("y").call("add", "aten.add.Tensor", {"x", "y"});
  graph.realised("relu", "aten.relu.default", {"add"}, "buf0");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("in", "y").argument("out", "buf0");
  kernel.step({"x", "y"}, "buf0", {"add", "relu"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(fragment.failure.empty());
  CHECK(calls(fragment) == "add relu");
  CHECK(inputs(fragment) == "x@0 y@1");
  CHECK(outputs(fragment) == "relu@2");
  CHECK_FALSE(fragment.outputs[0].layout.has_value());
  CHECK_FALSE(fragment.inputs[0].layout.has_value());
}

TEST_CASE("outputs stand in the kernel's order, not the graph's") {
  GraphWriter graph;
  graph.input("x");
  graph.realised("first", "aten.sin.default", {"x"}, "buf0");
  graph.realised("second", "aten.cos.default", {"x"}, "buf1");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf1").argument("out", "buf0");
  kernel.step({"x"}, "buf0", {"first"}).step({"x"}, "buf1", {"second"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "second@1 first@2");
  CHECK(calls(fragment) == "first second");
}

TEST_CASE("a value that is an output and feeds another one is computed once") {
  GraphWriter graph;
  graph.input("x");
  graph.realised("sin", "aten.sin.default", {"x"}, "buf0");
  graph.realised("exp", "aten.exp.default", {"sin"}, "buf1");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").argument("out", "buf1");
  kernel.step({"x"}, "buf0", {"sin"}).step({"buf0"}, "buf1", {"exp"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(calls(fragment) == "sin exp");
  CHECK(inputs(fragment) == "x@0");
  CHECK(outputs(fragment) == "sin@1 exp@2");
}

TEST_CASE("a four-way fan-out shares its source") {
  GraphWriter graph;
  graph.input("x").call("twice", "aten.mul.Tensor", {"x", "x"});
  KernelWriter kernel;
  kernel.argument("in", "x");
  for (const std::string name : {"sin", "cos", "exp", "abs"}) {
    graph.realised(name, "aten." + name + ".default", {"twice"}, "buf_" + name);
    kernel.argument("out", "buf_" + name);
    kernel.step({"x"}, "buf_" + name, {"twice", name});
  }
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(calls(fragment) == "twice sin cos exp abs");
  CHECK(outputs(fragment) == "sin@1 cos@2 exp@3 abs@4");
}

TEST_CASE("a temporary that crosses loop nests is checked but not live") {
  GraphWriter graph;
  graph.input("x");
  graph.realised("amax", "aten.amax.default", {"x"}, "buf0");
  graph.realised("sub", "aten.sub.Tensor", {"x", "amax"}, "buf1");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").argument("out", "buf1");
  kernel.step({"x"}, "buf0", {"amax"}, {{"is_live", false}}).step({"buf0"}, "buf1", {"sub"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "amax@1 sub@2");
  CHECK_FALSE(fragment.outputs[0].is_live);
  CHECK(fragment.outputs[1].is_live);
}

TEST_CASE("a store that code generation leaves out does not count as the last one of its chain") {
  // exp is read by its own loop alone: the argument keeps sin, and exp belongs to the fragment.
  GraphWriter graph;
  graph.input("x");
  graph.realised("sin", "aten.sin.default", {"x"}, "buf0");
  graph.realised("exp", "aten.exp.default", {"sin"}, "buf1");
  graph.realised("neg", "aten.neg.default", {"exp"}, "buf2");
  KernelWriter kernel;
  kernel.argument("inout", "buf1", {"buf0", "buf1"}).argument("in", "x").argument("out", "buf2");
  kernel.step({"x"}, "buf0", {"sin"})
      .step({"buf0"}, "buf1", {"exp"}, {{"is_stored", false}})
      .step({"buf1"}, "buf2", {"neg"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "sin@0 neg@2");
  CHECK(calls(fragment) == "sin exp neg");
}

TEST_CASE("an output without an FX value is unchecked, and the others stay") {
  GraphWriter graph;
  graph.input("x").buffer("buf0");
  graph.realised("sin", "aten.sin.default", {"x"}, "buf1");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").argument("out", "buf1");
  kernel.step({"x"}, "buf0", {"sin"}, {{"is_live", false}}).step({"x"}, "buf1", {"sin"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(fragment.failure.empty());
  CHECK(outputs(fragment) == "?@1 sin@2");
  CHECK(fragment.outputs[0].reason == "an output without an FX value: buf0");
}

TEST_CASE("a kernel without inputs is a fragment without inputs") {
  GraphWriter graph;
  graph.realised("full", "aten.full.default", {}, "buf0");
  KernelWriter kernel;
  kernel.argument("out", "buf0").step({}, "buf0", {"full"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(fragment.failure.empty());
  CHECK(calls(fragment) == "full");
  CHECK(fragment.inputs.empty());
}

TEST_CASE("a view of an argument is part of the fragment") {
  GraphWriter graph;
  graph.input("x", layout({2, 2}, {2, 1}));
  graph.call("permute", "aten.permute.default", {"x"}, layout({2, 2}, {1, 2}));
  graph.view_at("permute", "x", layout({2, 2}, {1, 2}));
  graph.realised("sin", "aten.sin.default", {"permute"}, "buf0", layout({2, 2}, {2, 1}));
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"sin"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(calls(fragment) == "permute sin");
  CHECK(inputs(fragment) == "x@0");
}

TEST_CASE("a view whose base has no FX value is an input with a layout") {
  GraphWriter graph;
  graph.node({{"name", "mm"},
              {"kind", "call"},
              {"target", "aten.mm.default"},
              {"arguments", Json::array()},
              {"values", {vector4()}}});
  graph.set("external_nodes", {"mm"}).buffer("buf0", layout({8}, {1}));
  graph.view_at("mm", "buf0", layout({4}, {1}, 4));
  graph.realised("sin", "aten.sin.default", {"mm"}, "buf1");
  KernelWriter kernel;
  kernel.argument("in", "buf0").argument("out", "buf1").step({"buf0"}, "buf1", {"sin"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(inputs(fragment) == "mm@0");
  REQUIRE(fragment.inputs[0].layout.has_value());
  CHECK(fragment.inputs[0].layout->offset == 4);
}

TEST_CASE("pieces of a concatenation are the operands of the cat") {
  GraphWriter graph;
  graph.input("x").input("y").call("sin", "aten.sin.default", {"x"});
  graph.realised("cat", "aten.cat.default", {"sin", "y"}, "buf2", layout({8}, {1}));
  graph.buffer("buf0").buffer_field("buf0", "base", "buf2").at("sin", "buf0");
  graph.buffer("buf1").buffer_field("buf1", "base", "buf2");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("in", "y").argument("out", "buf0").argument("out", "buf1");
  kernel.step({"x"}, "buf0", {"sin"});
  kernel.step({"y"}, "buf1", {"cat"}, {{"piece", {{"node", "cat"}, {"index", 1}}}});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "sin@2 y@3");
  CHECK(inputs(fragment) == "x@0 y@1");
}

TEST_CASE("a concatenation that the kernel writes is not read from its argument") {
  GraphWriter graph;
  graph.input("x").input("y").call("sin", "aten.sin.default", {"x"});
  graph.call("cos", "aten.cos.default", {"y"});
  graph.realised("cat", "aten.cat.default", {"sin", "cos"}, "buf2", layout({8}, {1}));
  graph.buffer("buf0").buffer_field("buf0", "base", "buf2").at("sin", "buf0");
  graph.buffer("buf1").buffer_field("buf1", "base", "buf2").at("cos", "buf1");
  graph.realised("sum", "aten.sum.default", {"cat"}, "buf3", layout({}, {}));
  KernelWriter kernel;
  kernel.argument("in", "x").argument("in", "y").argument("in", "buf2");
  kernel.argument("out", "buf0").argument("out", "buf1").argument("out", "buf3");
  kernel.step({"x"}, "buf0", {"sin"}).step({"y"}, "buf1", {"cos"});
  kernel.step({"buf2"}, "buf3", {"sum"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(calls(fragment) == "sin cos cat sum");
  CHECK(inputs(fragment) == "x@0 y@1");
  CHECK(argument_uses(graph.lowered(), kernel.record())[2] == ArgumentUse::kInOut);
}

TEST_CASE("a piece that another kernel wrote is read from the whole") {
  GraphWriter graph;
  graph.input("x");
  graph.realised("mm", "aten.mm.default", {"x"}, "buf0");
  graph.set("external_nodes", {"mm"});
  graph.buffer_field("buf0", "base", "buf2");
  graph.buffer_field("buf0", "base_view", layout({4}, {1}, 3)).buffer("buf2", layout({8}, {1}));
  graph.realised("sin", "aten.sin.default", {"mm"}, "buf3");
  KernelWriter kernel;
  kernel.argument("in", "buf2").argument("out", "buf3").step({"buf2"}, "buf3", {"sin"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(inputs(fragment) == "mm@0");
  REQUIRE(fragment.inputs[0].layout.has_value());
  CHECK(fragment.inputs[0].layout->offset == 3);
}

TEST_CASE("a layout copy is checked against what it copies") {
  const Json rows = layout({2, 3}, {3, 1});
  const Json columns = layout({2, 3}, {1, 2});
  GraphWriter graph;
  graph.input("weight", rows).buffer("buf0", columns);
  KernelWriter kernel;
  kernel.argument("in", "weight").argument("out", "buf0");
  const Json copy = {{"copy", {{"source", "weight"}, {"view", rows}}}};
  kernel.step({"weight"}, "buf0", {}, copy);
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(fragment.failure.empty());
  CHECK(outputs(fragment) == "weight@1");
  CHECK(calls(fragment).empty());
}

TEST_CASE("an operand of which the layout alone is read need not be an argument") {
  GraphWriter graph;
  graph.input("g").input("a").realised("mm", "aten.mm.default", {"a"}, "buf0");
  graph.set("external_nodes", {"mm"});
  graph.realised("pool", "aten.avg_pool2d_backward.default", {"g", "mm"}, "buf1");
  KernelWriter kernel;
  kernel.argument("in", "g").argument("out", "buf1").step({"g"}, "buf1", {"pool"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(fragment.failure.empty());
  CHECK(inputs(fragment) == "g@0");
  CHECK(outputs(fragment) == "pool@1");
  REQUIRE(fragment.graph.find("mm") != nullptr);
  CHECK(fragment.graph.find("mm")->target == "aten.empty_strided.default");
}

TEST_CASE("an operand that one call reads the layout of and another one the elements is an input") {
  GraphWriter graph;
  graph.input("x").realised("ones", "aten.ones_like.default", {"x"}, "buf0");
  graph.realised("sin", "aten.sin.default", {"x"}, "buf1");
  KernelWriter kernel;
  kernel.argument("out", "buf0").argument("in", "x").argument("out", "buf1");
  kernel.step({}, "buf0", {"ones"}).step({"x"}, "buf1", {"sin"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(inputs(fragment) == "x@1");
  CHECK(calls(fragment) == "ones sin");
}

TEST_CASE("a layout copy of a part that no node stands for gets an input of its own") {
  GraphWriter graph;
  graph.input("weight", layout({8}, {1})).buffer("buf0");
  KernelWriter kernel;
  kernel.argument("in", "weight").argument("out", "buf0");
  const Json every_second = layout({4}, {2}, 1);
  kernel.step({"weight"}, "buf0", {}, {{"copy", {{"source", "weight"}, {"view", every_second}}}});
  const Fragment fragment = fragment_of(graph, kernel);
  REQUIRE(fragment.inputs.size() == 1);
  CHECK(fragment.outputs[0].node == fragment.inputs[0].node);
  REQUIRE(fragment.inputs[0].layout.has_value());
  CHECK(fragment.inputs[0].layout->strides == std::vector<Size>{2});
  CHECK(fragment.inputs[0].layout->offset == 1);
}

TEST_CASE("a contiguous copy for a library call is that call's operand") {
  GraphWriter graph;
  graph.input("x").call("cos", "aten.cos.default", {"x"}).buffer("buf0");
  graph.realised("mm", "aten.mm.default", {"cos"}, "buf1").set("external_nodes", {"mm"});
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0");
  const Json consumers = {{{"node", "mm"}, {"index", 0}}};
  kernel.step({"x"}, "buf0", {"cos", "mm"}, {{"consumers", consumers}});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "cos@1");
  CHECK(calls(fragment) == "cos");
}

TEST_CASE("an operand that the lowering casts for a call is the cast of the operand") {
  GraphWriter graph;
  graph.input("x").call("gt", "aten.gt.Scalar", {"x"}, layout({4}, {1}, 0, "bool"));
  const Json numbers = layout({4}, {1}, 0, "int64");
  graph.buffer("buf0", numbers);
  graph.realised("cumsum", "aten.cumsum.default", {"gt"}, "buf1", numbers);
  graph.set("external_nodes", {"cumsum"});
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0");
  const Json consumers = {{{"node", "cumsum"}, {"index", 0}}};
  kernel.step({"x"}, "buf0", {"gt", "cumsum"}, {{"consumers", consumers}});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "gt_as_int64@1");
  CHECK(calls(fragment) == "gt gt_as_int64");
  CHECK(to_string(fragment.graph.nodes.back()) ==
        "gt_as_int64 = prims.convert_element_type.default(gt, torch.int64)");
  CHECK(fragment.graph.nodes.back().values[0]->dtype == DType::kInt64);
}

TEST_CASE("an input that is cast for two buffers is cast once") {
  const Json bools = layout({4}, {1}, 0, "bool");
  const Json numbers = layout({4}, {1}, 0, "int64");
  GraphWriter graph;
  graph.input("x", bools).buffer("buf0", numbers).buffer("buf1", numbers);
  graph.realised("sum", "aten.cumsum.default", {"x"}, "buf2", numbers);
  graph.realised("prod", "aten.cumprod.default", {"x"}, "buf3", numbers);
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").argument("out", "buf1");
  const auto read_by = [](const std::string& node) {
    return Json{{"consumers", {{{"node", node}, {"index", 0}}}}};
  };
  kernel.step({"x"}, "buf0", {"sum"}, read_by("sum"));
  kernel.step({"x"}, "buf1", {"prod"}, read_by("prod"));
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "x_as_int64@1 x_as_int64@2");
  CHECK(calls(fragment) == "x_as_int64");
}

TEST_CASE("a buffer of a dtype that neither operand nor call has is no cast of the operand") {
  GraphWriter graph;
  graph.input("x").call("gt", "aten.gt.Scalar", {"x"}, layout({4}, {1}, 0, "bool"));
  graph.buffer("buf0", layout({4}, {1}, 0, "int32"));
  graph.realised("cumsum", "aten.cumsum.default", {"gt"}, "buf1", layout({4}, {1}, 0, "int64"));
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0");
  const Json consumers = {{{"node", "cumsum"}, {"index", 0}}};
  kernel.step({"x"}, "buf0", {"gt"}, {{"consumers", consumers}});
  CHECK(outputs(fragment_of(graph, kernel)) == "?@1");
}

TEST_CASE("a graph input that was copied to another layout is found in both places") {
  GraphWriter graph;
  graph.input("weight").buffer("buf0").at("weight", "buf0");
  graph.realised("sin", "aten.sin.default", {"weight"}, "buf1");
  KernelWriter copying;
  copying.argument("in", "weight").argument("out", "buf0");
  copying.step({"weight"}, "buf0", {});
  CHECK(outputs(fragment_of(graph, copying)) == "weight@1");
  KernelWriter using_the_copy;
  using_the_copy.argument("in", "buf0").argument("out", "buf1").step({"buf0"}, "buf1", {"sin"});
  CHECK(inputs(fragment_of(graph, using_the_copy)) == "weight@0");
}

TEST_CASE("a constant that is no argument is appended to the arguments") {
  GraphWriter graph;
  graph.input("x");
  graph.node({{"name", "c"},
              {"kind", "constant"},
              {"target", "_tensor_constant0"},
              {"values", {vector4()}}});
  graph.realised("add", "aten.add.Tensor", {"x", "c"}, "buf0");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"add", "c"});
  const SlicedKernel sliced = slice(graph.lowered(), kernel.record());
  CHECK(inputs(sliced.fragment) == "x@0 c@2");
  CHECK(sliced.constants == std::vector<std::string>{"c"});
}

TEST_CASE("an output of another element order is recorded with the layout of its view") {
  GraphWriter graph;
  graph.input("x", layout({2, 2}, {2, 1}));
  graph.call("sin", "aten.sin.default", {"x"}, layout({2, 2}, {2, 1}));
  graph.buffer("buf0").at("sin", "buf0");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"sin"});
  const Fragment fragment = fragment_of(graph, kernel);
  REQUIRE(outputs(fragment) == "sin@1");
  REQUIRE(fragment.outputs[0].layout.has_value());
  CHECK(fragment.outputs[0].layout->shape == std::vector<Size>{2, 2});
  CHECK(fragment.outputs[0].layout->strides == std::vector<Size>{2, 1});
}

// --- What stops a slice
// -----------------------------------------------------------------------------

TEST_CASE("a tensor of open content is made, though a buffer is reserved for it") {
  // empty_like's own operand is no argument, and its content is of no account.
  GraphWriter graph;
  graph.input("x").input("y").realised("empty", "aten.empty_like.default", {"y"}, "buf0");
  graph.realised("copy", "aten.copy.default", {"empty", "x"}, "buf1");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf1").step({"x"}, "buf1", {"copy"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "copy@1");
  CHECK(inputs(fragment) == "x@0");
  CHECK(to_string(*fragment.graph.find("empty")) ==
        "empty = aten.empty_strided.default([4], [1], dtype=torch.float32, device=device('cpu'))");
}

TEST_CASE("a tensor of open content that is passed is an input") {
  GraphWriter graph;
  graph.input("x").realised("empty", "aten.empty_like.default", {"x"}, "buf0");
  graph.realised("add", "aten.add.Tensor", {"empty", "x"}, "buf1");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("in", "buf0").argument("out", "buf1");
  kernel.step({"x", "buf0"}, "buf1", {"add"});
  CHECK(inputs(fragment_of(graph, kernel)) == "x@0 empty@1");
}

TEST_CASE("an external call is never pulled into a fragment") {
  GraphWriter graph;
  graph.input("x").call("mm", "aten.mm.default", {"x"}).set("external_nodes", {"mm"});
  graph.realised("sin", "aten.sin.default", {"mm"}, "buf1");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf1").step({"x"}, "buf1", {"sin"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(fragment.failure ==
        "the value of an external call that is no argument: mm = aten.mm.default");
  CHECK(fragment.graph.nodes.empty());
  CHECK(outputs(fragment) == "?@1");
}

TEST_CASE("another kernel's result is never pulled into a fragment") {
  GraphWriter graph;
  graph.input("x").realised("sin", "aten.sin.default", {"x"}, "buf0");
  graph.realised("cos", "aten.cos.default", {"sin"}, "buf1");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf1").step({"x"}, "buf1", {"cos"});
  CHECK(fragment_of(graph, kernel).failure ==
        "the value of another kernel that is no argument: sin in buf0");
}

TEST_CASE("an input without metadata is a failure") {
  GraphWriter graph;
  graph.node({{"name", "x"}, {"kind", "placeholder"}, {"values", Json::array()}});
  graph.buffer("x").at("x", "x").realised("sin", "aten.sin.default", {"x"}, "buf0");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"sin"});
  CHECK(fragment_of(graph, kernel).failure == "an input without metadata: x");
}

TEST_CASE("a kernel that no node stands behind has no origin") {
  GraphWriter graph;
  graph.input("x").buffer("buf0");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(fragment.failure == "no origin: no FX node stands behind the kernel");
  CHECK(fragment.outputs[0].reason == "an output without an origin: buf0");
}

TEST_CASE("a target that is no operator is a failure") {
  GraphWriter graph;
  graph.input("x").realised("cond", "python:torch.ops.higher_order.cond", {"x"}, "buf0");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"cond"});
  CHECK(fragment_of(graph, kernel).failure ==
        "a target that is no torch operator: cond = torch.ops.higher_order.cond");
}

TEST_CASE("an argument that could not be read is a failure") {
  GraphWriter graph;
  graph.input("x").realised("sin", "aten.sin.default", {"x"}, "buf0");
  graph.set("problems", {{"sin", "a torch.Generator"}});
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"sin"});
  CHECK(fragment_of(graph, kernel).failure ==
        "an argument that cannot be recorded: sin, a torch.Generator");
}

TEST_CASE("a live output of another dtype than its node is checked, so that the fault shows") {
  GraphWriter graph;
  graph.input("x").call("sin", "aten.sin.default", {"x"}, layout({4}, {1}, 0, "bfloat16"));
  graph.buffer("buf0").at("sin", "buf0");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"sin"});
  CHECK(outputs(fragment_of(graph, kernel)) == "sin@1");
}

TEST_CASE("a temporary of another dtype than its node is not taken for it") {
  GraphWriter graph;
  graph.input("x").call("sin", "aten.sin.default", {"x"}, layout({4}, {1}, 0, "bfloat16"));
  graph.buffer("buf0").at("sin", "buf0");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0");
  kernel.step({"x"}, "buf0", {"sin"}, {{"is_live", false}});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "?@1");
  CHECK(fragment.failure.starts_with("an output of another dtype or shape than its FX node"));
}

TEST_CASE("a value of another shape than its buffer is not taken for it") {
  GraphWriter graph;
  graph.input("x").call("sum", "aten.sum.default", {"x"}, layout({2}, {1}));
  graph.buffer("buf0").at("sum", "buf0");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"sum"});
  CHECK(outputs(fragment_of(graph, kernel)) == "?@1");
}

const Json kRows = symbolic_layout({"s0", "s1"}, {"s1", 1});

TEST_CASE("symbolic sizes are sliced like others") {
  GraphWriter graph;
  graph.input("x", kRows).realised("sin", "aten.sin.default", {"x"}, "buf0", kRows);
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").argument("size", "s0");
  kernel.step({"x"}, "buf0", {"sin"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(calls(fragment) == "sin");
  CHECK(inputs(fragment) == "x@0");
  CHECK(outputs(fragment) == "sin@1");
  CHECK(symbols_of(fragment).empty());
}

TEST_CASE("a value that fits its buffer by chance alone is none of its") {
  GraphWriter graph;
  // Eight rows when it was compiled, in both; but not the same symbol.
  graph.input("x", kRows).call("sin", "aten.sin.default", {"x"}, kRows);
  graph.buffer("buf0", symbolic_layout({"s2", "s1"}, {"s1", 1})).at("sin", "buf0");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"sin"});
  CHECK(fragment_of(graph, kernel).failure ==
        "an output of another dtype or shape than its FX node: buf0 is float32[s2, s1], sin is "
        "float32[s0, s1]");
}

TEST_CASE("a buffer that holds the elements in another symbolic shape is seen in the node's") {
  GraphWriter graph;
  graph.input("x", kRows).call("sin", "aten.sin.default", {"x"}, kRows);
  graph.buffer("buf0", symbolic_layout({"s0*s1"}, {1})).at("sin", "buf0");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"sin"});
  const Fragment fragment = fragment_of(graph, kernel);
  REQUIRE(outputs(fragment) == "sin@1");
  CHECK(to_json(*fragment.outputs[0].layout) == kRows);
  CHECK(symbols_of(fragment) == std::set<std::string>{"s0", "s1"});
}

TEST_CASE("a view at a symbolic offset is bound by its expressions") {
  GraphWriter graph;
  graph.input("x", kRows).input("y", kRows);
  const Json half = symbolic_layout({"s0 - (s0//2)", "s1"}, {"s1", 1}, "s1*((s0//2))");
  const Json packed = symbolic_layout({"s0 - (s0//2)", "s1"}, {"s1", 1});
  graph.call("mm", "aten.mm.default", {"x", "y"}, half).view_at("mm", "x", half);
  graph.realised("sin", "aten.sin.default", {"mm"}, "buf0", packed);
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"sin"});
  graph.set("external_nodes", {"mm"}).set("mutations", {{"mm", {"x"}}});
  const Fragment fragment = fragment_of(graph, kernel);
  REQUIRE(inputs(fragment) == "mm@0");
  REQUIRE(fragment.inputs[0].layout.has_value());
  CHECK(fragment.inputs[0].layout->offset == Size::parse("s1*FloorDiv(s0, 2)"));
}

TEST_CASE("a symbolic number is taken from the symbols, and what computes it is left out") {
  GraphWriter graph;
  graph.node({{"name", "rows"}, {"kind", "placeholder"}, {"number", {{"symbol", "s0"}}}});
  graph.input("x", kRows);
  graph.node({{"name", "half"},
              {"kind", "call"},
              {"target", "python:_operator.floordiv"},
              {"arguments", {{{"node", "rows"}}, 2}},
              {"number", {{"symbol", "(s0//2)"}, {"hint", 4}}}});
  graph.realised("mul", "aten.mul.Tensor", {"x", "half"}, "buf0", kRows);
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"mul"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(calls(fragment) == "mul");
  CHECK(inputs(fragment) == "x@0");
  const Node* half = fragment.graph.find("half");
  REQUIRE(half != nullptr);
  CHECK(half->kind == NodeKind::kPlaceholder);
  CHECK(half->number == Symbol{"(s0//2)", 4});
  CHECK(symbols_of(fragment) == std::set<std::string>{"s0"});
}

TEST_CASE("a tensor without elements is made, since no kernel is passed one") {
  GraphWriter graph;
  graph.input("x").input("nothing", symbolic_layout({0, "s0"}, {"s0", 1}));
  graph.realised("cat", "aten.cat.default", {"x", "nothing"}, "buf0");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"cat"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "cat@1");
  CHECK(inputs(fragment) == "x@0");
  CHECK(to_string(*fragment.graph.find("nothing")) ==
        "nothing = aten.empty_strided.default([0, s0], [s0, 1], dtype=torch.float32, "
        "device=device('cpu'))");
}

}  // namespace
}  // namespace fuseproof
