#include "graph/op_kinds.h"

#include <doctest/doctest.h>

using namespace fuseproof;

namespace {

Node call(std::string target, std::vector<Argument> arguments = {},
          std::vector<NamedArgument> keywords = {}) {
  return {.name = "node",
          .target = std::move(target),
          .arguments = std::move(arguments),
          .keywords = std::move(keywords)};
}

const Argument kTensor{NodeRef{"x"}};
const Argument kIndices{ArgumentList{kTensor}};

}  // namespace

TEST_CASE("index_put adds up when it is told to, by position or by keyword") {
  const std::string target = "aten.index_put.default";
  CHECK(accumulates_in_open_order(call(target, {kTensor, kIndices, kTensor, {true}})));
  CHECK(accumulates_in_open_order(
      call(target, {kTensor, kIndices, kTensor}, {{"accumulate", {true}}})));
  CHECK_FALSE(accumulates(call(target, {kTensor, kIndices, kTensor, {false}})));
  CHECK_FALSE(accumulates(call(target, {kTensor, kIndices, kTensor})));
}

TEST_CASE("the scatter family adds up in an order of its own on the CPU") {
  const Node node =
      call("aten.scatter_add.default", {kTensor, {std::int64_t{0}}, kTensor, kTensor});
  CHECK(accumulates(node));
  CHECK_FALSE(accumulates_in_open_order(node));
}

TEST_CASE("what adds up rounds, and what only puts values down does not") {
  CHECK(rounds(call("aten.index_put.default", {kTensor, kIndices, kTensor, {true}})));
  CHECK_FALSE(rounds(call("aten.index_put.default", {kTensor, kIndices, kTensor, {false}})));
  CHECK(rounds(call("aten.mul.Tensor")));
  CHECK_FALSE(rounds(call("aten.floor.default")));
}

TEST_CASE("a gradient's shape comes from an operand whose elements nobody reads") {
  CHECK(reads_layout_alone("aten.avg_pool2d_backward.default", 1));
  CHECK_FALSE(reads_layout_alone("aten.avg_pool2d_backward.default", 0));
  CHECK(reads_layout_alone("aten.ones_like.default", 0));
  CHECK_FALSE(reads_layout_alone("aten.mul.Tensor", 1));
}
