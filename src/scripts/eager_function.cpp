#include "scripts/eager_function.h"

#include <algorithm>
#include <array>
#include <regex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "fragment/loop_ops.h"
#include "scripts/python_source.h"

namespace fuseproof {
namespace {

// Why there can be no function; caught where it is asked for.
struct NotWritable {
  std::string reason;
};

// Operators that torch itself brings: torch.ops.<namespace>. Those of other libraries are not there
// in a process that imports torch alone.
constexpr std::array kNamespaces = {"aten", "prims", "rngprims", "quantized_decomposed"};

// Generated code draws by Philox from a seed, eager from torch's generator: the two never agree,
// and a check of them would say nothing.
bool draws(const std::string& target) {
  return target == "prims.inductor_random.default" || target == "prims.inductor_randint.default";
}

// Whether the operator refuses a number where its schema has a tensor. Loop bodies do not tell the
// two apart; torch.ops does, but for the arithmetic that Python's operators stand for.
bool takes_tensors_alone(const std::string& target) {
  constexpr std::array kArithmetic = {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor",
                                      "aten.div.Tensor"};
  return is_loop_op_target(target) && std::ranges::find(kArithmetic, target) == kArithmetic.end();
}

// Names that the function uses itself, and Python's keywords.
const std::set<std::string>& taken_names() {
  static const std::set<std::string> kNames = {
      "inputs", "torch",  "float",  "complex", "False",   "None",     "True",     "and",
      "as",     "assert", "async",  "await",   "break",   "class",    "continue", "def",
      "del",    "elif",   "else",   "except",  "finally", "for",      "from",     "global",
      "if",     "import", "in",     "is",      "lambda",  "nonlocal", "not",      "or",
      "pass",   "raise",  "return", "try",     "while",   "with",     "yield"};
  return kNames;
}

// "aten.add.Tensor": text that is code when it is written as it is, and nothing else.
const std::string& dotted_name(const std::string& text, const std::string& owner) {
  static const std::regex kDottedName("[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*");
  if (!std::regex_match(text, kDottedName)) {
    throw NotWritable{fmt::format("{} names {}, which cannot be written", owner, text)};
  }
  return text;
}

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

class Writer {
 public:
  Writer(const Fragment& fragment, const SymbolValues& symbols,
         const std::map<std::string, std::string>& constants)
      : fragment_(fragment), symbols_(symbols), constants_(constants) {}

  EagerFunction write() {
    require_outputs();
    std::string body;
    std::size_t calls = 0;
    for (const Node& node : fragment_.graph.nodes) {
      body += line_of(node);
      calls += node.kind == NodeKind::kCall ? 1 : 0;
    }
    if (calls == 0) throw NotWritable{"the kernel has no origin among the graph's calls"};
    function_.code = "def eager_fn(inputs):\n";
    if (!function_.inputs.empty()) {
      std::vector<std::string> names;
      for (const std::string& node : function_.inputs) names.push_back(name_of(node));
      function_.code += unpacking(names);
    }
    function_.code += body + "    " + python_statement(4, "return ", returned()) + "\n";
    return std::move(function_);
  }

 private:
  void require_outputs() {
    if (!fragment_.failure.empty()) throw NotWritable{fragment_.failure};
    for (const FragmentOutput& output : fragment_.outputs) {
      if (!output.is_live) continue;
      if (!output.is_checked()) {
        throw NotWritable{
            fmt::format("output {} could not be determined: {}", output.buffer, output.reason)};
      }
      function_.outputs.push_back(output.node);
    }
    if (function_.outputs.empty())
      throw NotWritable{"the kernel's outputs could not be determined"};
  }

  // "    a, b = inputs", or one name a line where there are many.
  static std::string unpacking(const std::vector<std::string>& names) {
    if (names.size() == 1) return fmt::format("    ({},) = inputs\n", names.front());
    std::string line = fmt::format("    {} = inputs\n", fmt::join(names, ", "));
    if (line.size() <= kPythonColumns) return line;
    return fmt::format("    (\n        {},\n    ) = inputs\n", fmt::join(names, ",\n        "));
  }

  PythonExpression returned() {
    std::vector<std::string> names;
    for (const std::string& node : function_.outputs) names.push_back(name_of(node));
    return python_tuple(names);
  }

  std::string line_of(const Node& node) {
    switch (node.kind) {
      case NodeKind::kPlaceholder:
      case NodeKind::kConstant: return input_line(node);
      case NodeKind::kCall: return call_line(node);
      case NodeKind::kOutput: return "";
    }
    throw Error(ErrorKind::kInternal, "a node has no kind");
  }

  // Tensors are taken from `inputs`; what is known when the script is written stands in it.
  std::string input_line(const Node& node) {
    if (node.number)
      return fmt::format("    {} = {}\n", name_of(node.name), number_text(*node.number));
    const auto constant = constants_.find(node.name);
    if (constant != constants_.end()) {
      return fmt::format("    {} = {}\n", name_of(node.name), constant->second);
    }
    if (node.values.size() != 1 || !node.values.front()) {
      throw NotWritable{fmt::format("input {} has no meta data of a tensor", node.name)};
    }
    function_.inputs.push_back(node.name);
    name_of(node.name);
    return "";
  }

  std::string call_line(const Node& node) {
    const PythonExpression call = node.target == "getitem" ? element_of(node) : call_of(node);
    return "    " + python_statement(4, name_of(node.name) + " = ", call) + "\n";
  }

  PythonExpression element_of(const Node& node) {
    if (node.arguments.size() != 2) throw NotWritable{node.name + " is an element of nothing"};
    return python_leaf(
        fmt::format("{}[{}]", text_of(node.arguments[0]).head, text_of(node.arguments[1]).head));
  }

  PythonExpression call_of(const Node& node) {
    const std::string library = node.target.substr(0, node.target.find('.'));
    if (std::ranges::find(kNamespaces, library) == kNamespaces.end()) {
      throw NotWritable{fmt::format("node {} calls {}, which is no operator of torch's own",
                                    node.name, node.target)};
    }
    if (draws(node.target)) {
      throw NotWritable{
          fmt::format("node {} draws random numbers, which eager draws in another way", node.name)};
    }
    std::vector<PythonExpression> arguments;
    for (const Argument& argument : node.arguments) {
      arguments.push_back(takes_tensors_alone(node.target) ? tensor_of(node, argument)
                                                           : text_of(argument));
    }
    for (const NamedArgument& keyword : node.keywords) {
      arguments.push_back(python_prefixed(dotted_name(keyword.name, "node " + node.name) + "=",
                                          text_of(keyword.argument)));
    }
    return python_group("torch.ops." + dotted_name(node.target, "node " + node.name) + "(",
                        std::move(arguments), ")");
  }

  // An operand, also where it is a number.
  PythonExpression tensor_of(const Node& node, const Argument& operand) {
    PythonExpression text = text_of(operand);
    if (std::holds_alternative<NodeRef>(operand.value)) return text;
    return python_leaf(fmt::format("torch.scalar_tensor({}, dtype=torch.{})", text.head,
                                   dtype_name(dtype_of(node, operand))));
  }

  // Of a number among a node's operands: that of the tensors beside it.
  DType dtype_of(const Node& node, const Argument& number) const {
    if (std::holds_alternative<bool>(number.value)) return DType::kBool;
    const bool is_float = std::holds_alternative<double>(number.value);
    const DTypeClass kind = is_float ? DTypeClass::kFloat : DTypeClass::kInteger;
    for (const Argument& argument : node.arguments) {
      const auto* ref = std::get_if<NodeRef>(&argument.value);
      const Node* operand = ref == nullptr ? nullptr : fragment_.graph.find(ref->name);
      if (operand == nullptr || operand->values.size() != 1 || !operand->values[0]) continue;
      if (dtype_class(operand->values[0]->dtype) == kind) return operand->values[0]->dtype;
    }
    return is_float ? DType::kFloat32 : DType::kInt64;
  }

  PythonExpression text_of(const Argument& argument) {
    return std::visit(
        Overloaded{[](const None&) { return python_leaf("None"); },
                   [](bool value) { return python_leaf(value ? "True" : "False"); },
                   [](std::int64_t value) { return python_leaf(fmt::format("{}", value)); },
                   [](double value) { return python_leaf(python_literal(value)); },
                   [](const std::string& value) {
                     return python_leaf(python_literal(without_device_index(value)));
                   },
                   [](const Complex& value) {
                     return python_leaf(fmt::format("complex({}, {})", python_literal(value.real),
                                                    python_literal(value.imag)));
                   },
                   [this](const NodeRef& value) { return python_leaf(name_of(value.name)); },
                   [](const SubgraphRef& value) -> PythonExpression {
                     throw NotWritable{fmt::format("the graph {} is an argument", value.name)};
                   },
                   [](const TorchConstant& value) {
                     if (value.kind != "device")
                       return python_leaf("torch." + dotted_name(value.name, "an argument"));
                     return python_leaf(fmt::format(
                         "torch.device({})", python_literal(without_device_index(value.name))));
                   },
                   [this](const Symbol& value) { return python_leaf(number_text(value)); },
                   [this](const ArgumentList& list) {
                     std::vector<PythonExpression> elements;
                     for (const Argument& element : list) elements.push_back(text_of(element));
                     return python_group("[", std::move(elements), "]");
                   }},
        argument.value);
  }

  std::string number_text(const Symbol& symbol) const {
    try {
      return python_literal(evaluate(symbol.expression, symbols_));
    } catch (const Error& error) {
      if (symbol.hint) return fmt::format("{}", *symbol.hint);
      throw NotWritable{fmt::format("a size has no value: {}", error.what())};
    }
  }

  // Nodes of loop bodies have dots in their names.
  const std::string& name_of(const std::string& node) {
    const auto known = names_.find(node);
    if (known != names_.end()) return known->second;
    std::string name = node;
    std::ranges::replace_if(
        name, [](unsigned char character) { return std::isalnum(character) == 0; }, '_');
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) {
      name.insert(0, "_");
    }
    while (taken_names().contains(name) || !used_.insert(name).second) name += "_";
    return names_[node] = name;
  }

  const Fragment& fragment_;
  const SymbolValues& symbols_;
  const std::map<std::string, std::string>& constants_;
  EagerFunction function_;
  std::map<std::string, std::string> names_;
  std::set<std::string> used_;
};

}  // namespace

EagerFunction eager_function(const Fragment& fragment, const SymbolValues& symbols,
                             const std::map<std::string, std::string>& constants) {
  try {
    return Writer(fragment, symbols, constants).write();
  } catch (const NotWritable& problem) {
    EagerFunction none;
    none.failure = problem.reason;
    return none;
  }
}

}  // namespace fuseproof
