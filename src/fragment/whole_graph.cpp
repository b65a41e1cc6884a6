#include "fragment/whole_graph.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/expression_value.h"
#include "fragment/nodes.h"

namespace fuseproof {
namespace {

// The symbols that a call's arguments show: those of its placeholders.
std::set<std::string> given_symbols(const Graph& graph) {
  std::set<std::string> symbols;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::kPlaceholder) continue;
    if (node.number) symbols.merge(symbols_in(node.number->expression));
    for (const std::optional<SymbolicLayout>& value : node.values) {
      if (value) collect_symbols(*value, symbols);
    }
  }
  return symbols;
}

bool follows_from(const Symbol& number, const std::set<std::string>& given) {
  const std::set<std::string> needed = symbols_in(number.expression);
  return std::ranges::includes(given, needed);
}

bool is_tensor(const Node& node) {
  return !node.is_tuple && node.values.size() == 1 && node.values.front().has_value();
}

FragmentOutput result_output(const LoweredGraph& lowered, const Argument& result) {
  FragmentOutput output;
  const auto* ref = std::get_if<NodeRef>(&result.value);
  if (ref == nullptr) {
    output.reason = "it is a constant";
    return output;
  }
  output.buffer = ref->name;
  const std::optional<std::size_t> position = lowered.position(ref->name);
  if (!position || !is_tensor(lowered.at(*position))) {
    output.reason = "it is no tensor of a dtype that records can hold";
    return output;
  }
  output.source = OutputSource::kFx;
  output.node = ref->name;
  return output;
}

// What the output node names: its only argument, a list, or a single value.
std::vector<Argument> results_of(const Graph& graph) {
  if (graph.nodes.empty() || graph.nodes.back().kind != NodeKind::kOutput) return {};
  const std::vector<Argument>& arguments = graph.nodes.back().arguments;
  if (arguments.empty()) return {};
  if (const auto* list = std::get_if<ArgumentList>(&arguments.front().value)) return *list;
  return {arguments.front()};
}

void add_outputs(const LoweredGraph& lowered, Fragment& fragment) {
  std::int64_t argument = std::ssize(fragment.inputs);
  for (const Argument& result : results_of(lowered.graph)) {
    FragmentOutput output = result_output(lowered, result);
    output.argument = argument++;
    fragment.outputs.push_back(std::move(output));
  }
  std::set<std::string> written;
  for (const auto& [node, targets] : lowered.mutations) {
    written.insert(targets.begin(), targets.end());
  }
  for (const FragmentInput& input : fragment.inputs) {
    if (!written.contains(input.node)) continue;
    fragment.outputs.push_back({.argument = input.argument,
                                .buffer = input.node,
                                .source = OutputSource::kFx,
                                .node = input.node,
                                .layout = std::nullopt,
                                .is_live = true,
                                .reason = ""});
  }
}

void bind_inputs(const LoweredGraph& lowered, Fragment& fragment) {
  for (const NodeKind kind : {NodeKind::kPlaceholder, NodeKind::kConstant}) {
    for (const Node& node : lowered.graph.nodes) {
      if (node.kind != kind || lowered.problems.contains(node.name)) continue;
      fragment.inputs.push_back({node.name, std::ssize(fragment.inputs), std::nullopt});
    }
  }
}

}  // namespace

Fragment whole_graph(const LoweredGraph& lowered) {
  Fragment fragment;
  const std::set<std::string> given = given_symbols(lowered.graph);
  fragment.graph.subgraphs = lowered.graph.subgraphs;
  for (const Node& node : lowered.graph.nodes) {
    if (node.kind == NodeKind::kOutput) continue;
    const bool is_number = node.kind == NodeKind::kCall && node.number;
    const bool is_given = is_number && follows_from(*node.number, given);
    fragment.graph.nodes.push_back(is_given ? placeholder_of(node) : node);
    const auto problem = lowered.problems.find(node.name);
    // A constant that is no tensor is the business of the call that takes it.
    if (problem == lowered.problems.end() || node.kind == NodeKind::kConstant) continue;
    if (is_given || !fragment.failure.empty()) continue;
    fragment.failure = fmt::format("node `{}` ({}) could not be recorded: {}", node.name,
                                   node.target, problem->second);
  }
  bind_inputs(lowered, fragment);
  add_outputs(lowered, fragment);
  return fragment;
}

}  // namespace fuseproof
