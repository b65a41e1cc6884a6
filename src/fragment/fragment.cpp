#include "fragment/fragment.h"

#include <array>
#include <string_view>
#include <utility>

namespace fuseproof {
namespace {

constexpr std::array kSourceNames = {
    std::pair{OutputSource::kFx, std::string_view("fx")},
    std::pair{OutputSource::kLoopBody, std::string_view("loop_body")},
    std::pair{OutputSource::kUnchecked, std::string_view("unchecked")},
};

std::string_view source_name(OutputSource source) {
  for (const auto& [candidate, name] : kSourceNames) {
    if (candidate == source) return name;
  }
  return "unchecked";
}

OutputSource source_from_json(const JsonObject& object) {
  const std::string name = object.string("source");
  for (const auto& [source, source_name] : kSourceNames) {
    if (source_name == name) return source;
  }
  object.fail("source", "is none of fx, loop_body, unchecked");
}

Json to_json(const FragmentInput& input) {
  Json json = {{"node", input.node}, {"argument", input.argument}};
  if (input.layout) json["layout"] = to_json(*input.layout);
  return json;
}

Json to_json(const FragmentOutput& output) {
  Json json = {{"argument", output.argument},
               {"buffer", output.buffer},
               {"source", source_name(output.source)},
               {"is_live", output.is_live}};
  if (!output.node.empty()) json["node"] = output.node;
  if (output.layout) json["layout"] = to_json(*output.layout);
  if (!output.reason.empty()) json["reason"] = output.reason;
  return json;
}

std::optional<SymbolicLayout> optional_layout(const JsonObject& object) {
  if (!object.has("layout")) return std::nullopt;
  return symbolic_layout_from_json(object.object("layout"));
}

std::int64_t argument_index(const JsonObject& object) {
  const std::int64_t index = object.integer("argument");
  if (index < 0) object.fail("argument", "is negative");
  return index;
}

std::string node_of(const JsonObject& object, const Graph& graph) {
  std::string node = object.string("node");
  if (graph.find(node) == nullptr) object.fail("node", "names no node of the fragment: " + node);
  return node;
}

FragmentOutput output_from_json(const JsonObject& object, const Graph& graph) {
  FragmentOutput output;
  output.argument = argument_index(object);
  output.buffer = object.string("buffer");
  output.source = source_from_json(object);
  if (output.is_checked()) output.node = node_of(object, graph);
  output.layout = optional_layout(object);
  output.is_live = object.boolean("is_live");
  output.reason = object.string_or("reason", "");
  return output;
}

}  // namespace

std::set<std::string> symbols_of(const Fragment& fragment) {
  std::set<std::string> symbols;
  const auto add = [&](const Symbol& symbol) { symbols.merge(symbols_in(symbol.expression)); };
  for (const Node& node : fragment.graph.nodes) {
    if (node.number && node.kind == NodeKind::kPlaceholder) add(*node.number);
    for (const Argument& argument : node.arguments) for_each_symbol(argument, add);
    for (const NamedArgument& keyword : node.keywords) for_each_symbol(keyword.argument, add);
  }
  for (const FragmentInput& input : fragment.inputs) {
    if (input.layout) collect_symbols(*input.layout, symbols);
  }
  for (const FragmentOutput& output : fragment.outputs) {
    if (output.layout) collect_symbols(*output.layout, symbols);
  }
  return symbols;
}

Json to_json(const Fragment& fragment) {
  Json json = {
      {"graph", to_json(fragment.graph)}, {"inputs", Json::array()}, {"outputs", Json::array()}};
  for (const FragmentInput& input : fragment.inputs) json["inputs"].push_back(to_json(input));
  for (const FragmentOutput& output : fragment.outputs) json["outputs"].push_back(to_json(output));
  if (!fragment.failure.empty()) json["failure"] = fragment.failure;
  return json;
}

Fragment fragment_from_json(const JsonObject& object) {
  Fragment fragment;
  fragment.graph = graph_from_json(object.object("graph"));
  for (const JsonObject& input : object.objects("inputs")) {
    fragment.inputs.push_back(
        {node_of(input, fragment.graph), argument_index(input), optional_layout(input)});
  }
  for (const JsonObject& output : object.objects("outputs")) {
    fragment.outputs.push_back(output_from_json(output, fragment.graph));
  }
  fragment.failure = object.string_or("failure", "");
  return fragment;
}

}  // namespace fuseproof
