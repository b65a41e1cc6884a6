// An FX graph as plain data: nodes in execution order, each with its target, arguments and the
// metadata of its value. This is what capture reads out of torch and what the reference runs; it
// knows nothing of torch itself.
//
// An operator of higher order (cond, while_loop) calls graphs. Those lie in the graph that calls
// them, by name, and an argument names one; their inputs are what the operator gives them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "tensor/symbolic_layout.h"

namespace fuseproof {

struct Argument;

// What may stand in the arguments of a node. JSON forms:
//   null, true, 3, 2.5, "text", [ … ]          None, bool, int, float, str, list or tuple
//   {"node": "add_1"}                           another node's value
//   {"subgraph": "true_graph_0"}                a graph that the call may call
//   {"float": "nan" | "inf" | "-inf"}           a float that JSON cannot write
//   {"complex": [re, im]}
//   {"dtype": "float32"}  {"device": "cpu"}  {"layout": "strided"}
//   {"memory_format": "channels_last"}  {"operator": "aten.sin.default"}
//   {"symbol": "s0 + 1", "hint": 9}             a symbolic number (base/expression.h), with the
//                                               value seen at compile time where there was an
//                                               integer one
struct NodeRef {
  std::string name;
  bool operator==(const NodeRef&) const = default;
};
struct SubgraphRef {
  std::string name;
  bool operator==(const SubgraphRef&) const = default;
};
struct None {
  bool operator==(const None&) const = default;
};
struct Complex {
  double real = 0;
  double imag = 0;
  bool operator==(const Complex&) const = default;
};
// A torch constant: an object of torch.dtype, device, layout or memory_format, or an operator.
struct TorchConstant {
  std::string kind;  // "dtype", "device", "layout", "memory_format", "operator"
  std::string name;
  bool operator==(const TorchConstant&) const = default;
};
struct Symbol {
  std::string expression;
  std::optional<std::int64_t> hint = {};
  bool operator==(const Symbol&) const = default;
};
using ArgumentList = std::vector<Argument>;

struct Argument {
  std::variant<None, bool, std::int64_t, double, std::string, Complex, NodeRef, SubgraphRef,
               TorchConstant, Symbol, ArgumentList>
      value;
  bool operator==(const Argument&) const = default;
};

struct NamedArgument {
  std::string name;
  Argument argument;
  bool operator==(const NamedArgument&) const = default;
};

enum class NodeKind : std::uint8_t { kPlaceholder, kConstant, kCall, kOutput };

struct Node {
  std::string name = {};
  NodeKind kind = NodeKind::kCall;
  // kCall: "aten.add.Tensor", "prims.convert_element_type.default", "getitem" (operator.getitem).
  // kConstant: the attribute's name. Else empty.
  std::string target = {};
  std::vector<Argument> arguments = {};
  std::vector<NamedArgument> keywords = {};
  // The value's metadata: one layout for a tensor, several for a tuple of tensors (an element that
  // is no tensor has none), empty for a value that is no tensor.
  std::vector<std::optional<SymbolicLayout>> values = {};
  // What the value is when it is a symbolic number (a size, an input that is a number).
  std::optional<Symbol> number = {};
  bool is_tuple = false;
  std::string source_file = {};  // the user's line that this node came from; empty when unknown
  std::int64_t source_line = 0;
  std::string source_text = {};
};

struct Graph {
  std::vector<Node> nodes;  // in execution order; the last one is the only kOutput, if there is one
  std::map<std::string, Graph> subgraphs = {};  // those that arguments name

  // Null when no node has the name. Linear.
  const Node* find(const std::string& name) const;
};

// Calls `visit` with each Symbol in the argument, nested ones included.
template <typename Visitor>
void for_each_symbol(const Argument& argument, Visitor&& visit) {
  if (const auto* symbol = std::get_if<Symbol>(&argument.value)) visit(*symbol);
  if (const auto* list = std::get_if<ArgumentList>(&argument.value)) {
    for (const Argument& element : *list) for_each_symbol(element, visit);
  }
}

// Calls `visit` with each NodeRef in the argument, nested ones included, in order.
template <typename Visitor>
void for_each_node_ref(const Argument& argument, Visitor&& visit) {
  if (const auto* ref = std::get_if<NodeRef>(&argument.value)) visit(*ref);
  if (const auto* list = std::get_if<ArgumentList>(&argument.value)) {
    for (const Argument& element : *list) for_each_node_ref(element, visit);
  }
}
// The same for all arguments and keywords of a node.
template <typename Visitor>
void for_each_node_ref(const Node& node, Visitor&& visit) {
  for (const Argument& argument : node.arguments) for_each_node_ref(argument, visit);
  for (const NamedArgument& keyword : node.keywords) for_each_node_ref(keyword.argument, visit);
}

// Calls `visit` with each SubgraphRef in the argument, nested ones included, in order.
template <typename Visitor>
void for_each_subgraph_ref(const Argument& argument, Visitor&& visit) {
  if (const auto* ref = std::get_if<SubgraphRef>(&argument.value)) visit(*ref);
  if (const auto* list = std::get_if<ArgumentList>(&argument.value)) {
    for (const Argument& element : *list) for_each_subgraph_ref(element, visit);
  }
}
// The same for all arguments and keywords of a node.
template <typename Visitor>
void for_each_subgraph_ref(const Node& node, Visitor&& visit) {
  for (const Argument& argument : node.arguments) for_each_subgraph_ref(argument, visit);
  for (const NamedArgument& keyword : node.keywords) for_each_subgraph_ref(keyword.argument, visit);
}

// Whether a call is given a graph to call.
bool takes_subgraphs(const Node& node);

Json to_json(const Argument& argument);
Argument argument_from_json(const Json& value, const std::string& where);

// {"nodes": [{"name", "kind": "placeholder"|"constant"|"call"|"output", "target", "arguments",
//   "keywords": {…}, "values": [layout|null], "is_tuple", "number"?: {"symbol": "s0", "hint": 8},
//   "source": {"file", "line", "text"}}], "subgraphs"?: {"true_graph_0": {"nodes": …}}}
Json to_json(const Graph& graph);
// Throws kBadInput for a malformed document, a repeated name, or a reference to a later node or to
// a sub-graph that is not there.
Graph graph_from_json(const JsonObject& object);

// "add_1 = aten.add.Tensor(mul, 1.0, alpha=2)".
std::string to_string(const Node& node);

// "model.py:12: return x + x", the user's line that the node came from; "" where it is unknown.
std::string user_line(const Node& node);

}  // namespace fuseproof
