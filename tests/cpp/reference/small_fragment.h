// Fragments of a few calls on one int64 or float32 input, and the call and arena that go with them.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "bundle/runners.h"

namespace fuseproof::test {

inline Node placeholder(const std::string& name) {
  Node node;
  node.name = name;
  node.kind = NodeKind::kPlaceholder;
  return node;
}

inline Node call(const std::string& name, const std::string& target,
                 std::vector<Argument> arguments, std::vector<NamedArgument> keywords = {}) {
  Node node;
  node.name = name;
  node.target = target;
  node.arguments = std::move(arguments);
  node.keywords = std::move(keywords);
  return node;
}

// Input `x`; the last node is the output.
inline Fragment fragment_of(std::vector<Node> calls) {
  Fragment fragment;
  fragment.graph.nodes.push_back(placeholder("x"));
  fragment.inputs.push_back({.node = "x", .argument = 0, .layout = std::nullopt});
  for (Node& node : calls) fragment.graph.nodes.push_back(std::move(node));
  FragmentOutput output;
  output.argument = 1;
  output.source = OutputSource::kFx;
  output.node = fragment.graph.nodes.back().name;
  fragment.outputs.push_back(output);
  return fragment;
}

// A call whose only argument is a vector of these values.
template <typename T>
struct VectorCall {
  VectorCall(DType dtype, const std::vector<T>& values)
      : arena(Arena::create(std::vector<StorageRequest>{{values.size() * sizeof(T), 0}})) {
    std::memcpy(arena.storage(0).data(), values.data(), values.size() * sizeof(T));
    record.storages.push_back({.size_bytes = values.size() * sizeof(T),
                               .address_mod_64 = 0,
                               .blob = "",
                               .omitted = "layout"});
    CallArgument argument;
    argument.storage = 0;
    argument.layout = {.dtype = dtype, .shape = {std::ssize(values)}, .strides = {1}};
    record.arguments.push_back(argument);
  }

  CallRecord record;
  Arena arena;
};

template <typename T>
std::vector<T> values_of(const ReferenceResult& result, std::size_t run, std::size_t output = 0) {
  const ReferenceOutput& found = result.runs.at(run).outputs.at(output);
  std::vector<T> values(static_cast<std::size_t>(element_count(found.layout)));
  const std::vector<std::byte> packed =
      gather(std::span<const std::byte>(result.arena->storage(found.storage)), found.layout);
  std::memcpy(values.data(), packed.data(), packed.size());
  return values;
}

}  // namespace fuseproof::test
