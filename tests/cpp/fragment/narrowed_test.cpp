// A fragment of which some outputs' loop bodies are left out.
#include "fragment/narrowed.h"

#include <doctest/doctest.h>

#include "records.h"

namespace fuseproof {
namespace {

using namespace fuseproof::testing;  // NOLINT: the vocabulary of these tests

Node call(const std::string& name, const std::vector<std::string>& operands) {
  Node node{.name = name, .kind = NodeKind::kCall, .target = "aten.add.Tensor"};
  for (const std::string& operand : operands) node.arguments.push_back({NodeRef{operand}});
  return node;
}

FragmentOutput output(std::int64_t argument, OutputSource source, const std::string& node) {
  FragmentOutput result;
  result.argument = argument;
  result.source = source;
  result.node = node;
  result.layout = SymbolicLayout{DType::kFloat32, {4}, {1}, 0};
  return result;
}

// sin is an FX value; buf1.add reads it, buf2.add reads another view of x.
Fragment two_loop_bodies() {
  Fragment fragment;
  for (const char* name : {"x", "x.entry.0", "x.entry.1"}) {
    fragment.graph.nodes.push_back({.name = name, .kind = NodeKind::kPlaceholder});
    fragment.inputs.push_back({name, 0, std::nullopt});
  }
  fragment.graph.nodes.push_back(call("sin", {"x"}));
  fragment.graph.nodes.push_back(call("buf1.square", {"x.entry.0", "sin"}));
  fragment.graph.nodes.push_back(call("buf1.add", {"buf1.square"}));
  fragment.graph.nodes.push_back(call("buf2.add", {"x.entry.1", "buf1.square"}));
  fragment.outputs = {output(1, OutputSource::kFx, "sin"),
                      output(2, OutputSource::kLoopBody, "buf1.add"),
                      output(3, OutputSource::kLoopBody, "buf2.add")};
  return fragment;
}

TEST_CASE("without loop bodies their nodes and bindings are gone") {
  const Fragment whole = two_loop_bodies();
  const Fragment fx = narrowed(whole, outputs_from(whole, OutputSource::kFx));
  CHECK(calls(fx) == "sin");
  CHECK(inputs(fx) == "x@0");
  CHECK(outputs(fx) == "sin@1 ?@2 ?@3");
  CHECK_FALSE(fx.outputs[1].layout.has_value());
}

TEST_CASE("one loop body keeps what it reads, and all of the FX graph") {
  const Fragment whole = two_loop_bodies();
  CHECK(outputs_from(whole, OutputSource::kLoopBody) == std::set<std::size_t>{1, 2});
  const Fragment one = narrowed(whole, {2});
  CHECK(calls(one) == "sin buf1.square buf2.add");
  CHECK(inputs(one) == "x@0 x.entry.0@0 x.entry.1@0");
  CHECK(outputs(one) == "?@1 ?@2 buf2.add@3");
  CHECK(calls(narrowed(whole, {1})) == "sin buf1.square buf1.add");
}

}  // namespace
}  // namespace fuseproof
