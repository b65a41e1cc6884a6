// Values that are made by writing over other values: in-place chains, mutated inputs, scatters.
#include <doctest/doctest.h>

#include "fragment/slicer.h"
#include "records.h"

namespace fuseproof {
namespace {

using namespace fuseproof::testing;  // NOLINT: the vocabulary of these tests

Fragment fragment_of(const GraphWriter& graph, const KernelWriter& kernel) {
  return slice(graph.lowered(), kernel.record()).fragment;
}

Json write_into(const std::string& real) { return {{"real", real}}; }

TEST_CASE("of a chain of in-place aliases only the last is an output, and the first is the input") {
  GraphWriter graph;
  graph.input("x").realised("mm", "aten.mm.default", {"x"}, "buf0");
  graph.set("external_nodes", {"mm"});
  graph.realised("sin", "aten.sin.default", {"mm"}, "buf1");
  graph.realised("cos", "aten.cos.default", {"sin"}, "buf2");
  KernelWriter kernel;
  kernel.argument("inout", "buf2", {"buf0", "buf1", "buf2"});
  kernel.step({"buf0"}, "buf1", {"sin"}).step({"buf1"}, "buf2", {"cos"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(inputs(fragment) == "mm@0");
  CHECK(calls(fragment) == "sin cos");
  CHECK(outputs(fragment) == "cos@0");
  CHECK(fragment.outputs[0].buffer == "buf2");
}

TEST_CASE("an in-place input of another shape is bound with its own layout") {
  GraphWriter graph;
  graph.input("x").realised("mm", "aten.mm.default", {"x"}, "buf0", layout({2, 2}, {2, 1}));
  graph.set("external_nodes", {"mm"});
  graph.call("view", "aten.view.default", {"mm"})
      .realised("sin", "aten.sin.default", {"view"}, "buf1");
  KernelWriter kernel;
  kernel.argument("inout", "buf1", {"buf0", "buf1"}).step({"buf0"}, "buf1", {"sin"});
  const Fragment fragment = fragment_of(graph, kernel);
  REQUIRE(inputs(fragment) == "mm@0");
  REQUIRE(fragment.inputs[0].layout.has_value());
  CHECK(fragment.inputs[0].layout->shape == std::vector<Size>{2, 2});
  CHECK(calls(fragment) == "view sin");
}

TEST_CASE("a mutated graph input is an output whose value is the copy into it") {
  GraphWriter graph;
  graph.input("x").input("y").call("add", "aten.add.Tensor", {"x", "y"});
  graph.realised("mul", "aten.mul.Tensor", {"x", "y"}, "buf0");
  graph.call("copy_", "aten.copy_.default", {"x", "add"}).at("copy_", "x");
  graph.set("mutations", {{"copy_", {"x"}}}).buffer("buf1").buffer_field("buf1", "real", "x");
  KernelWriter kernel;
  kernel.argument("in", "y").argument("in", "x").argument("out", "buf0").argument("out", "x");
  kernel.step({"x", "y"}, "buf0", {"mul"})
      .step({"x", "y"}, "buf1", {"copy_", "add"}, write_into("x"));
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "mul@2 copy_@3");
  CHECK(calls(fragment) == "add mul copy_");
  CHECK(inputs(fragment) == "x@1 y@0");
  CHECK(argument_uses(graph.lowered(), kernel.record())[3] == ArgumentUse::kInOut);
}

TEST_CASE("a copy into a part of an input is recorded with the part's layout") {
  GraphWriter graph;
  graph.input("cache", layout({8}, {1})).input("new");
  graph.call("slice", "aten.slice.Tensor", {"cache"}, layout({4}, {1}, 2));
  graph.view_at("slice", "cache", layout({4}, {1}, 2));
  graph.call("copy_", "aten.copy_.default", {"slice", "new"}, layout({4}, {1}, 2));
  graph.view_at("copy_", "cache", layout({4}, {1}, 2));
  graph.set("mutations", {{"copy_", {"slice"}}}).buffer_field("buf0", "real", "cache");
  KernelWriter kernel;
  kernel.argument("in", "new").argument("out", "cache");
  kernel.step({"new"}, "buf0", {"copy_"}, write_into("cache"));
  const Fragment fragment = fragment_of(graph, kernel);
  REQUIRE(outputs(fragment) == "copy_@1");
  REQUIRE(fragment.outputs[0].layout.has_value());
  CHECK(fragment.outputs[0].layout->offset == 2);
  CHECK(calls(fragment) == "slice copy_");
  CHECK(inputs(fragment) == "cache@1 new@0");
}

TEST_CASE("a scatter into a value that the same kernel made is the value that stays") {
  GraphWriter graph;
  graph.input("x").input("i");
  graph.realised("mul", "aten.mul.Tensor", {"x", "x"}, "buf0");
  graph.call("put", "aten.index_put_.default", {"mul", "i", "x"}).at("put", "buf0");
  graph.set("mutations", {{"put", {"mul"}}}).buffer_field("buf1", "real", "buf0");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("in", "i").argument("out", "buf0");
  kernel.step({"x"}, "buf0", {"mul"}).step({"i", "x", "buf0"}, "buf1", {"put"}, write_into("buf0"));
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "put@2");
  CHECK(calls(fragment) == "mul put");
  CHECK(argument_uses(graph.lowered(), kernel.record())[2] == ArgumentUse::kOut);
}

TEST_CASE("a functional scatter that is split over two kernels is right in both") {
  // scatter(x, i, v) is lowered to buf0 = copy of x; buf0 changed in place.
  GraphWriter graph;
  graph.input("x").input("i").input("v");
  graph.realised("scatter", "aten.scatter_add.default", {"x", "i", "v"}, "buf0");
  graph.set("mutations", {{"scatter", Json::array()}}).buffer_field("buf1", "real", "buf0");
  KernelWriter first;
  first.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"scatter"});
  CHECK(outputs(fragment_of(graph, first)) == "x@1");
  KernelWriter second;
  second.argument("in", "i").argument("in", "v").argument("out", "buf0");
  second.step({"i", "v", "buf0"}, "buf1", {"scatter"}, write_into("buf0"));
  const Fragment fragment = fragment_of(graph, second);
  CHECK(outputs(fragment) == "scatter@2");
  CHECK(inputs(fragment) == "x@2 i@0 v@1");
}

TEST_CASE("a call that changes a tuple of inputs is known by its elements") {
  GraphWriter graph;
  graph.input("x").input("y");
  graph.node({{"name", "foreach"},
              {"kind", "call"},
              {"target", "aten._foreach_mul.Scalar"},
              {"arguments", {{{{"node", "x"}}, {{"node", "y"}}}, 2.0}},
              {"is_tuple", true},
              {"values", {vector4(), vector4()}}});
  graph.node({{"name", "first"},
              {"kind", "call"},
              {"target", "getitem"},
              {"arguments", {{{"node", "foreach"}}, 0}},
              {"values", {vector4()}}});
  graph.at("first", "x").set("mutations", {{"first", {"x", "y"}}, {"foreach", {"x", "y"}}});
  graph.buffer_field("buf0", "real", "x");
  graph.realised("sin", "aten.sin.default", {"first"}, "buf1");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("in", "y").argument("out", "x").argument("out", "buf1");
  kernel.step({"x"}, "buf0", {"foreach"}, write_into("x")).step({"buf0"}, "buf1", {"sin"});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "first@2 sin@3");
  CHECK(calls(fragment) == "foreach first sin");
  CHECK(inputs(fragment) == "x@0 y@1");
}

TEST_CASE("a base that is read after it was changed in place takes the change along") {
  // The graph goes on to name the base, as Inductor's reinplaced graphs do.
  GraphWriter graph;
  graph.input("x", layout({8}, {1})).input("v");
  graph.realised("exp", "aten.exp.default", {"x"}, "buf0", layout({8}, {1}));
  graph.call("slice", "aten.slice.Tensor", {"exp"}, layout({4}, {1}));
  graph.view_at("slice", "buf0", layout({4}, {1}));
  graph.call("copy_", "aten.copy_.default", {"slice", "v"}).view_at("copy_", "buf0", vector4());
  graph.realised("sin", "aten.sin.default", {"exp"}, "buf2", layout({8}, {1}));
  graph.set("mutations", {{"copy_", {"slice"}}}).buffer_field("buf1", "real", "buf0");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("in", "v").argument("out", "buf0").argument("out", "buf2");
  kernel.step({"x"}, "buf0", {"exp"}).step({"v"}, "buf1", {"copy_"}, write_into("buf0"));
  kernel.step({}, "buf2", {"sin"}).reads_renamed("buf1", "buf0");
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(calls(fragment) == "exp slice copy_ sin");
  CHECK(fragment.outputs[1].node == "sin");
}

TEST_CASE("an input that an earlier kernel has overwritten is not taken for its old value") {
  GraphWriter graph;
  graph.input("x").call("add", "aten.add.Tensor", {"x", "x"});
  graph.realised("sin", "aten.sin.default", {"add"}, "buf2");
  graph.call("copy_", "aten.copy_.default", {"x", "add"}).at("copy_", "x");
  graph.set("mutations", {{"copy_", {"x"}}}).buffer_field("buf1", "real", "x");
  KernelWriter kernel;  // reads x after the copy: sin(x), not sin(x + x)
  kernel.argument("in", "x").argument("out", "buf2");
  kernel.step({}, "buf2", {"sin"}).reads_renamed("buf1", "x");
  CHECK(fragment_of(graph, kernel).failure == "an input that an earlier kernel has overwritten: x");
}

}  // namespace
}  // namespace fuseproof
