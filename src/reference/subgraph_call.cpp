#include "reference/subgraph_call.h"

#include <algorithm>
#include <string>

namespace fuseproof {
namespace {

class OperandCollector {
 public:
  explicit OperandCollector(std::vector<Argument>& operands) : operands_(operands) {}

  // The argument with its operands' numbers in their places.
  Argument numbered(const Argument& argument) {
    if (const auto* list = std::get_if<ArgumentList>(&argument.value)) {
      ArgumentList result;
      for (const Argument& element : *list) result.push_back(numbered(element));
      return {std::move(result)};
    }
    const bool is_operand = std::holds_alternative<NodeRef>(argument.value) ||
                            std::holds_alternative<Symbol>(argument.value);
    return is_operand ? Argument{NodeRef{std::to_string(number_of(argument))}} : argument;
  }

 private:
  std::size_t number_of(const Argument& operand) {
    const auto found = std::find(operands_.begin(), operands_.end(), operand);
    const auto number = static_cast<std::size_t>(found - operands_.begin());
    if (found == operands_.end()) operands_.push_back(operand);
    return number;
  }

  std::vector<Argument>& operands_;
};

}  // namespace

bool is_subgraph_call(const Node& node) {
  return takes_subgraphs(node) || node.target.starts_with("python:torch.ops.higher_order.");
}

SubgraphCall subgraph_call(const Graph& graph, const Node& node) {
  SubgraphCall result{.operands = node, .call = {}};
  result.operands.arguments.clear();
  result.operands.keywords.clear();
  OperandCollector operands(result.operands.arguments);
  Json arguments = Json::array();
  for (const Argument& argument : node.arguments) {
    arguments.push_back(to_json(operands.numbered(argument)));
  }
  Json keywords = Json::object();
  for (const NamedArgument& keyword : node.keywords) {
    keywords[keyword.name] = to_json(operands.numbered(keyword.argument));
  }
  Json subgraphs = Json::object();
  for_each_subgraph_ref(node, [&](const SubgraphRef& ref) {
    subgraphs[ref.name] = to_json(graph.subgraphs.at(ref.name));
  });
  result.call = {{"arguments", std::move(arguments)},
                 {"keywords", std::move(keywords)},
                 {"subgraphs", std::move(subgraphs)},
                 {"operand_count", result.operands.arguments.size()}};
  return result;
}

}  // namespace fuseproof
