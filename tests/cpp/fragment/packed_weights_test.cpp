#include "fragment/packed_weights.h"

#include <doctest/doctest.h>

#include "records.h"

namespace fuseproof {
namespace {

using namespace fuseproof::testing;  // NOLINT: the vocabulary of these tests

Json reference_to(const std::string& node) { return {{"node", node}}; }

GraphWriter mkl_linear(const Json& bias) {
  GraphWriter graph;
  graph.input("x", layout({2, 3}, {3, 1})).input("weight", layout({4, 3}, {3, 1})).input("bias");
  graph.node(
      {{"name", "packed"}, {"kind", "constant"}, {"target", "packed"}, {"values", {nullptr}}});
  graph.node(
      {{"name", "linear"},
       {"kind", "call"},
       {"target", "mkl._mkl_linear.default"},
       {"arguments", {reference_to("x"), reference_to("packed"), reference_to("weight"), bias, 2}},
       {"keywords", Json::object()},
       {"values", {layout({2, 4}, {4, 1})}}});
  return graph;
}

TEST_CASE("a linear layer with a packed weight is one with its plain weight") {
  GraphWriter graph = mkl_linear(reference_to("bias"));
  graph.buffer("buf0", layout({2, 4}, {4, 1})).at("linear", "buf0");
  KernelWriter kernel;
  kernel.argument("in", "x").argument("in", "weight").argument("in", "bias");
  kernel.argument("out", "buf0").step({"x", "weight", "bias"}, "buf0", {"linear"});
  const Fragment fragment = slice(graph.lowered(), kernel.record()).fragment;
  CHECK(fragment.failure.empty());
  CHECK(inputs(fragment) == "x@0 weight@1 bias@2");
  CHECK(to_string(fragment.graph.nodes.back()) == "linear = aten.linear.default(x, weight, bias)");
}

TEST_CASE("a layer without a bias has none afterwards either") {
  const LoweredGraph lowered = mkl_linear(nullptr).lowered();
  const Node linear = with_plain_weights(lowered.at(*lowered.position("linear")));
  CHECK(to_string(linear) == "linear = aten.linear.default(x, weight, None)");
}

TEST_CASE("other calls stay as they are") {
  GraphWriter graph;
  graph.input("x").call("sin", "aten.sin.default", {"x"});
  const LoweredGraph lowered = graph.lowered();
  CHECK(to_string(with_plain_weights(lowered.at(1))) == "sin = aten.sin.default(x)");
}

}  // namespace
}  // namespace fuseproof
