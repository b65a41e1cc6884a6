#include "fragment/undivided_means.h"

#include <doctest/doctest.h>

#include "records.h"

namespace fuseproof {
namespace {

using namespace fuseproof::testing;  // NOLINT: the vocabulary of these tests

Json mean_of(const Json& dims, const Json& value) {
  return {{"name", "mean"},
          {"kind", "call"},
          {"target", "aten.mean.dim"},
          {"arguments", {{{"node", "x"}}, dims, true}},
          {"keywords", Json::object()},
          {"values", {value}}};
}

// The mean over the columns of a matrix, whose sums are in buf0.
GraphWriter column_means(const Json& matrix, const Json& means, const Json& sums) {
  GraphWriter graph;
  graph.input("x", matrix).node(mean_of({-1}, means));
  graph.buffer("buf0", sums).buffer_field("buf0", "sum_for", "mean");
  return graph;
}

KernelWriter summing_kernel() {
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"mean"});
  return kernel;
}

TEST_CASE("the kernel that adds up for a mean is checked against the sum") {
  const Json means = layout({2, 1}, {1, 1});
  const GraphWriter graph = column_means(layout({2, 5}, {5, 1}), means, means);
  const Fragment fragment = slice(graph.lowered(), summing_kernel().record()).fragment;
  CHECK(outputs(fragment) == "mean_undivided@1");
  CHECK(to_string(fragment.graph.nodes.back()) ==
        "mean_undivided = aten.sum.dim_IntList(x, [-1], True, dtype=torch.float32)");
}

TEST_CASE("the kernel that divides takes the sum from its argument") {
  const Json means = layout({2, 1}, {1, 1});
  GraphWriter graph = column_means(layout({2, 5}, {5, 1}), means, means);
  graph.buffer("buf1", means).at("mean", "buf1");
  KernelWriter kernel;
  kernel.argument("inout", "buf1", {"buf0", "buf1"}).step({"buf0"}, "buf1", {"mean"});
  const Fragment fragment = slice(graph.lowered(), kernel.record()).fragment;
  CHECK(inputs(fragment) == "mean_undivided@0");
  CHECK(outputs(fragment) == "mean@0");
  CHECK(to_string(fragment.graph.nodes.back()) == "mean = aten.div.Scalar(mean_undivided, 5)");
}

TEST_CASE("a half-precision mean is added up and divided in float32, as in ATen") {
  const Json matrix = layout({2, 5}, {5, 1}, 0, "bfloat16");
  GraphWriter graph =
      column_means(matrix, layout({2, 1}, {1, 1}, 0, "bfloat16"), layout({2, 1}, {1, 1}));
  graph.buffer("buf1", layout({2, 1}, {1, 1}, 0, "bfloat16")).at("mean", "buf1");
  KernelWriter kernel;
  kernel.argument("in", "buf0").argument("out", "buf1").step({"buf0"}, "buf1", {"mean"});
  const Fragment fragment = slice(graph.lowered(), kernel.record()).fragment;
  CHECK(calls(fragment) == "mean_divided mean");
  CHECK(to_string(fragment.graph.nodes.back()) ==
        "mean = prims.convert_element_type.default(mean_divided, torch.bfloat16)");
}

TEST_CASE("the divisor of a symbolic size is an expression") {
  const Json means = symbolic_layout({2, 1}, {1, 1});
  GraphWriter graph = column_means(symbolic_layout({2, "s0"}, {"s0", 1}), means, means);
  const LoweredGraph lowered = graph.lowered();
  const Node& mean = lowered.at(*lowered.position("mean"));
  CHECK(std::get<Symbol>(mean.arguments[1].value).expression == "s0");
}

TEST_CASE("a mean without dimensions is divided by the number of all elements") {
  GraphWriter graph;
  graph.input("x", layout({2, 5}, {5, 1}));
  graph.call("mean", "aten.mean.default", {"x"}, layout({}, {}));
  graph.buffer("buf0", layout({}, {})).buffer_field("buf0", "sum_for", "mean");
  const LoweredGraph lowered = graph.lowered();
  CHECK(to_string(lowered.at(*lowered.position("mean_undivided"))) ==
        "mean_undivided = aten.sum.dim_IntList(x, [], False, dtype=torch.float32)");
  CHECK(to_string(lowered.at(*lowered.position("mean"))) ==
        "mean = aten.div.Scalar(mean_undivided, 10)");
}

TEST_CASE("partial sums, sums for other calls and sums that a node stands for change nothing") {
  const Json means = layout({2, 1}, {1, 1});
  const auto splits = [](const GraphWriter& graph) {
    return graph.lowered().position("mean_undivided").has_value();
  };
  const Json matrix = layout({2, 5}, {5, 1});
  CHECK(splits(column_means(matrix, means, means)));
  CHECK_FALSE(splits(column_means(matrix, means, layout({2, 3}, {3, 1}))));
  CHECK_FALSE(splits(column_means(matrix, means, means).at("x", "buf0")));
  CHECK_FALSE(splits(column_means(matrix, means, means).buffer_field("buf0", "sum_for", "x")));
  GraphWriter two = column_means(matrix, means, means);
  two.buffer("buf1", means).buffer_field("buf1", "sum_for", "mean");
  CHECK_FALSE(splits(two));
}

}  // namespace
}  // namespace fuseproof
