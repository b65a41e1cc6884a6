#include "reference/program.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "base/error.h"
#include "graph/op_kinds.h"

namespace fuseproof {
namespace {

[[noreturn]] void malformed(const Node& node, const std::string& problem) {
  throw Error(ErrorKind::kBadInput, fmt::format("node `{}` ({}) {}: {}", node.name, node.target,
                                                problem, to_string(node)));
}

void refuse_unknown_keywords(const Node& node, const c10::FunctionSchema& schema) {
  for (const NamedArgument& keyword : node.keywords) {
    const bool is_known = std::any_of(
        schema.arguments().begin(), schema.arguments().end(),
        [&](const c10::Argument& parameter) { return parameter.name() == keyword.name; });
    if (!is_known) malformed(node, fmt::format("has no argument `{}`", keyword.name));
  }
}

const Argument* find_keyword(const Node& node, const std::string& name) {
  for (const NamedArgument& keyword : node.keywords) {
    if (keyword.name == name) return &keyword.argument;
  }
  return nullptr;
}

std::vector<Operand> make_operands(const Node& node, const c10::FunctionSchema& schema,
                                   SlotTable& slots) {
  refuse_unknown_keywords(node, schema);
  std::vector<Operand> operands;
  std::size_t position = 0;
  for (const c10::Argument& parameter : schema.arguments()) {
    const Argument* argument = nullptr;
    if (!parameter.kwarg_only() && position < node.arguments.size()) {
      argument = &node.arguments[position++];
    } else {
      argument = find_keyword(node, parameter.name());
    }
    operands.push_back(argument != nullptr ? make_operand(*argument, parameter, node, slots)
                                           : default_operand(parameter, node));
  }
  if (position < node.arguments.size()) malformed(node, "is given too many arguments");
  return operands;
}

void collect_slots(const Operand& operand, std::vector<int>& slots) {
  if (operand.kind == Operand::Kind::kSlot) slots.push_back(operand.slot);
  for (const Operand& element : operand.elements) collect_slots(element, slots);
}

// Marks, from the end of the program, where each slot is used last. A result that nothing uses is
// free at once.
void find_last_uses(Program& program) {
  std::unordered_set<int> needed(program.outputs.begin(), program.outputs.end());
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    std::vector<int> used = {step->result};
    for (const Operand& operand : step->operands) collect_slots(operand, used);
    for (const int slot : used) {
      if (needed.insert(slot).second) step->last_uses.push_back(slot);
    }
  }
}

int declare(SlotTable& slots, const std::string& name) {
  slots.nodes.emplace(name, slots.count);
  return slots.count++;
}

// Comparisons with a number take place in the tensor's dtype: eager and kernels alike round the
// number to it first, also where a run computes in wider floats.
bool compares_with_number(const std::string& target) {
  static const std::unordered_set<std::string> kTargets = {"aten.eq.Scalar", "aten.ne.Scalar",
                                                           "aten.lt.Scalar", "aten.le.Scalar",
                                                           "aten.gt.Scalar", "aten.ge.Scalar"};
  return kTargets.contains(target);
}

Node with_rounded_number(const Graph& graph, Node node) {
  if (!compares_with_number(node.target) || node.arguments.size() != 2) return node;
  const auto* ref = std::get_if<NodeRef>(&node.arguments[0].value);
  auto* number = std::get_if<double>(&node.arguments[1].value);
  if (ref == nullptr || number == nullptr) return node;
  const Node* tensor = graph.find(ref->name);
  if (tensor == nullptr || tensor->values.size() != 1 || !tensor->values[0]) return node;
  *number = rounded_to(tensor->values[0]->dtype, *number);
  return node;
}

}  // namespace

Program compile(const Graph& graph, const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs, PythonOperators* python) {
  Program program;
  SlotTable slots;
  for (const std::string& name : inputs) {
    const auto known = slots.nodes.find(name);
    program.inputs.push_back(known != slots.nodes.end() ? known->second : declare(slots, name));
  }
  for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
    const Node& node = graph.nodes[index];
    if (node.number && node.kind == NodeKind::kPlaceholder && !slots.nodes.contains(node.name)) {
      slots.nodes.emplace(node.name, slots.slot_of(*node.number));
    }
    if (node.kind != NodeKind::kCall || slots.nodes.contains(node.name)) continue;
    Node called = with_rounded_number(graph, node);
    Kernel kernel;
    if (is_subgraph_call(node)) {
      SubgraphCall call = subgraph_call(graph, node);
      kernel = Kernel::resolve(call, python);
      called = std::move(call.operands);
    } else {
      kernel = Kernel::resolve(node, python);
    }
    Step step{.node = index,
              .name = node.name,
              .target = node.target,
              .rounds = rounds(node),
              .accumulates = accumulates(node),
              .kernel = std::move(kernel),
              .operands = {},
              .last_uses = {}};
    step.operands = make_operands(called, step.kernel.schema(), slots);
    step.result = declare(slots, node.name);
    program.steps.push_back(std::move(step));
  }
  for (const std::string& name : outputs) {
    const auto found = slots.nodes.find(name);
    if (found == slots.nodes.end()) {
      throw Error(ErrorKind::kBadInput,
                  fmt::format("the graph has no node `{}`, which is named as an output", name));
    }
    program.outputs.push_back(found->second);
  }
  for (const auto& [symbol, slot] : slots.symbols) program.symbols.push_back({symbol, slot});
  program.slot_count = slots.count;
  find_last_uses(program);
  return program;
}

}  // namespace fuseproof
