#include "graph/graph.h"

#include <cmath>
#include <filesystem>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace fuseproof {
namespace {

constexpr std::string_view kKindNames[] = {"placeholder", "constant", "call", "output"};

[[noreturn]] void malformed(const std::string& where, const std::string& problem) {
  throw Error(ErrorKind::kBadInput, fmt::format("{}: {}", where, problem));
}

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

Symbol symbol_from_json(const JsonObject& object) {
  Symbol symbol{object.string("symbol"), std::nullopt};
  if (object.has("hint")) symbol.hint = object.integer("hint");
  return symbol;
}

Json symbol_to_json(const Symbol& symbol) {
  Json json = {{"symbol", symbol.expression}};
  if (symbol.hint) json["hint"] = *symbol.hint;
  return json;
}

Argument object_from_json(const Json& value, const std::string& where) {
  const JsonObject object(value, where);
  if (object.has("node")) return {NodeRef{object.string("node")}};
  if (object.has("subgraph")) return {SubgraphRef{object.string("subgraph")}};
  if (object.has("float")) return {float_from_json(object.raw("float"), where)};
  if (object.has("complex")) {
    const Json& parts = object.raw("complex");
    if (!parts.is_array() || parts.size() != 2) object.fail("complex", "is not a pair");
    return {Complex{float_from_json(parts[0], where), float_from_json(parts[1], where)}};
  }
  if (object.has("symbol")) return {symbol_from_json(object)};
  for (const char* kind : {"dtype", "device", "layout", "memory_format", "operator"}) {
    if (object.has(kind)) return {TorchConstant{kind, object.string(kind)}};
  }
  malformed(where, "an argument object of no known kind: " + json_text(value, -1));
}

// As Python writes it: a float that is a whole number keeps its ".0".
std::string float_text(double value) {
  const bool is_whole =
      std::isfinite(value) && value == std::floor(value) && std::abs(value) < 1e16;
  return is_whole ? fmt::format("{:.1f}", value) : fmt::format("{}", value);
}

std::string to_string(const Argument& argument) {
  return std::visit(
      Overloaded{[](const None&) -> std::string { return "None"; },
                 [](bool value) -> std::string { return value ? "True" : "False"; },
                 [](std::int64_t value) { return fmt::format("{}", value); },
                 [](double value) { return float_text(value); },
                 [](const std::string& value) { return fmt::format("'{}'", value); },
                 [](const Complex& value) {
                   return fmt::format("({}+{}j)", float_text(value.real), float_text(value.imag));
                 },
                 [](const NodeRef& value) { return value.name; },
                 [](const SubgraphRef& value) { return value.name; },
                 [](const TorchConstant& value) {
                   return value.kind == "device" ? fmt::format("device('{}')", value.name)
                                                 : "torch." + value.name;
                 },
                 [](const Symbol& value) { return value.expression; },
                 [](const ArgumentList& list) {
                   std::vector<std::string> parts;
                   for (const Argument& element : list) parts.push_back(to_string(element));
                   return fmt::format("[{}]", fmt::join(parts, ", "));
                 }},
      argument.value);
}

Json node_to_json(const Node& node) {
  Json json = {{"name", node.name}, {"kind", kKindNames[static_cast<std::size_t>(node.kind)]}};
  if (!node.target.empty()) json["target"] = node.target;
  if (node.kind == NodeKind::kCall || node.kind == NodeKind::kOutput) {
    json["arguments"] = Json::array();
    for (const Argument& argument : node.arguments) json["arguments"].push_back(to_json(argument));
    json["keywords"] = Json::object();
    for (const NamedArgument& keyword : node.keywords) {
      json["keywords"][keyword.name] = to_json(keyword.argument);
    }
  }
  json["values"] = Json::array();
  for (const auto& value : node.values) json["values"].push_back(value ? to_json(*value) : Json());
  if (node.is_tuple) json["is_tuple"] = true;
  if (node.number) json["number"] = symbol_to_json(*node.number);
  if (!node.source_file.empty()) {
    json["source"] = {
        {"file", node.source_file}, {"line", node.source_line}, {"text", node.source_text}};
  }
  return json;
}

NodeKind kind_from_json(const JsonObject& object) {
  const std::string name = object.string("kind");
  for (std::size_t i = 0; i < std::size(kKindNames); ++i) {
    if (kKindNames[i] == name) return static_cast<NodeKind>(i);
  }
  object.fail("kind", fmt::format("is `{}`, which is no kind of node", name));
}

void read_values(const JsonObject& object, Node& node) {
  if (!object.has("values")) return;
  const Json& values = object.raw("values");
  if (!values.is_array()) object.fail("values", "is not an array");
  for (const Json& value : values) {
    if (value.is_null()) {
      node.values.emplace_back();
      continue;
    }
    node.values.emplace_back(
        symbolic_layout_from_json(JsonObject(value, object.where() + ": `values`")));
  }
}

Node node_from_json(const JsonObject& object) {
  Node node;
  node.name = object.string("name");
  node.kind = kind_from_json(object);
  node.target = object.string_or("target", "");
  if (node.kind == NodeKind::kCall && node.target.empty()) object.fail("target", "is missing");
  if (object.has("arguments")) {
    if (!object.raw("arguments").is_array()) object.fail("arguments", "is not an array");
    for (const Json& value : object.raw("arguments")) {
      node.arguments.push_back(argument_from_json(value, object.where()));
    }
  }
  if (object.has("keywords")) {
    const JsonObject keywords = object.object("keywords");
    for (const auto& [name, value] : keywords.value().items()) {
      node.keywords.push_back({name, argument_from_json(value, object.where())});
    }
  }
  read_values(object, node);
  node.is_tuple = object.boolean_or("is_tuple", false);
  if (object.has("number")) node.number = symbol_from_json(object.object("number"));
  if (object.has("source")) {
    const JsonObject source = object.object("source");
    node.source_file = source.string("file");
    node.source_line = source.integer("line");
    node.source_text = source.string_or("text", "");
  }
  return node;
}

}  // namespace

const Node* Graph::find(const std::string& name) const {
  for (const Node& node : nodes) {
    if (node.name == name) return &node;
  }
  return nullptr;
}

bool takes_subgraphs(const Node& node) {
  bool result = false;
  for_each_subgraph_ref(node, [&](const SubgraphRef&) { result = true; });
  return result;
}

Json to_json(const Argument& argument) {
  return std::visit(
      Overloaded{
          [](const None&) { return Json(); }, [](bool value) { return Json(value); },
          [](std::int64_t value) { return Json(value); },
          [](double value) {
            return std::isfinite(value) ? Json(value) : Json{{"float", float_to_json(value)}};
          },
          [](const std::string& value) { return Json(value); },
          [](const Complex& value) {
            return Json{{"complex", {float_to_json(value.real), float_to_json(value.imag)}}};
          },
          [](const NodeRef& value) {
            return Json{{"node", value.name}};
          },
          [](const SubgraphRef& value) {
            return Json{{"subgraph", value.name}};
          },
          [](const TorchConstant& value) {
            return Json{{value.kind, value.name}};
          },
          [](const Symbol& value) { return symbol_to_json(value); },
          [](const ArgumentList& list) {
            Json array = Json::array();
            for (const Argument& element : list) array.push_back(to_json(element));
            return array;
          }},
      argument.value);
}

Argument argument_from_json(const Json& value, const std::string& where) {
  if (value.is_null()) return {None{}};
  if (value.is_boolean()) return {value.get<bool>()};
  if (value.is_number_integer()) return {value.get<std::int64_t>()};
  if (value.is_number_float()) return {value.get<double>()};
  if (value.is_string()) return {value.get<std::string>()};
  if (value.is_object()) return object_from_json(value, where);
  ArgumentList list;
  for (const Json& element : value) list.push_back(argument_from_json(element, where));
  return {std::move(list)};
}

Json to_json(const Graph& graph) {
  Json nodes = Json::array();
  for (const Node& node : graph.nodes) nodes.push_back(node_to_json(node));
  Json json = {{"nodes", std::move(nodes)}};
  for (const auto& [name, subgraph] : graph.subgraphs) json["subgraphs"][name] = to_json(subgraph);
  return json;
}

Graph graph_from_json(const JsonObject& object) {
  Graph graph;
  if (object.has("subgraphs")) {
    const JsonObject subgraphs = object.object("subgraphs");
    for (const auto& [name, value] : subgraphs.value().items()) {
      graph.subgraphs.emplace(name, graph_from_json(subgraphs.object(name)));
    }
  }
  std::unordered_set<std::string> known;
  for (const JsonObject& entry : object.objects("nodes")) {
    Node node = node_from_json(entry);
    for_each_node_ref(node, [&](const NodeRef& ref) {
      if (!known.contains(ref.name)) {
        entry.fail("arguments",
                   fmt::format("refers to `{}`, which no earlier node defines", ref.name));
      }
    });
    for_each_subgraph_ref(node, [&](const SubgraphRef& ref) {
      if (!graph.subgraphs.contains(ref.name)) {
        entry.fail("arguments",
                   fmt::format("names the sub-graph `{}`, which is not there", ref.name));
      }
    });
    if (!known.insert(node.name).second) entry.fail("name", "repeats an earlier node's");
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

std::string user_line(const Node& node) {
  if (node.source_file.empty()) return "";
  const std::string file = std::filesystem::path(node.source_file).filename().string();
  return fmt::format("{}:{}: {}", file, node.source_line, node.source_text);
}

std::string to_string(const Node& node) {
  std::vector<std::string> parts;
  for (const Argument& argument : node.arguments) parts.push_back(to_string(argument));
  for (const NamedArgument& keyword : node.keywords) {
    parts.push_back(fmt::format("{}={}", keyword.name, to_string(keyword.argument)));
  }
  return fmt::format("{} = {}({})", node.name, node.target, fmt::join(parts, ", "));
}

}  // namespace fuseproof
