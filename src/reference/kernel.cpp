#include "reference/kernel.h"

#include <string>

#include <ATen/core/enum_tag.h>
#include <ATen/native/TensorFactories.h>
#include <fmt/format.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include "base/error.h"
#include "reference/number_functions.h"

namespace fuseproof {
namespace {

[[noreturn]] void unavailable(const Node& node, const std::string& why) {
  throw Error(ErrorKind::kUnsupported,
              fmt::format("node `{}`: {} {}", node.name, node.target, why));
}

// operator.getitem on the results of an operator that has several, or on a list of tensors.
void getitem(torch::jit::Stack& stack) {
  c10::IValue value;
  std::int64_t index = 0;
  torch::jit::pop(stack, value, index);
  TORCH_CHECK(value.isTuple() || value.isList(), "getitem on a value that is no tuple or list");
  const bool is_tuple = value.isTuple();
  const auto count =
      static_cast<std::int64_t>(is_tuple ? value.toTupleRef().size() : value.toListRef().size());
  if (index < 0) index += count;
  TORCH_CHECK(0 <= index && index < count, "getitem: index out of range");
  stack.push_back(is_tuple ? value.toTupleRef().elements()[index] : value.toListRef()[index]);
}

constexpr std::string_view kPrims = "prims.";
constexpr Prim kGetItem = {.schema = "getitem(Any value, int index) -> Any", .function = getitem};

struct TargetName {
  std::string name;      // "aten::add"
  std::string overload;  // "Tensor"; empty for "default"
};

// "aten.add.Tensor". The operator's own name may be missing its overload, never its namespace.
TargetName split_target(const Node& node) {
  const std::size_t first = node.target.find('.');
  if (first == std::string::npos) unavailable(node, "is no operator of the ATen dispatcher");
  const std::size_t second = node.target.find('.', first + 1);
  TargetName result;
  result.name =
      node.target.substr(0, first) + "::" + node.target.substr(first + 1, second - first - 1);
  if (second != std::string::npos) result.overload = node.target.substr(second + 1);
  if (result.overload == "default") result.overload.clear();
  return result;
}

std::optional<c10::OperatorHandle> find_operator(const TargetName& target) {
  return c10::Dispatcher::singleton().findSchema({target.name, target.overload});
}

bool makes_open_content(std::string_view target) {
  for (const std::string_view name :
       {"aten.empty.", "aten.empty_like.", "aten.empty_strided.", "aten.empty_permuted.",
        "aten.new_empty.", "aten.new_empty_strided.", "prims.empty.", "prims.empty_strided.",
        "prims.empty_permuted."}) {
    if (target.starts_with(name)) return true;
  }
  return false;
}

}  // namespace

void Kernel::fill_open_content(torch::jit::Stack& stack) {
  at::Tensor result = stack.back().toTensor();
  at::native::fill_empty_deterministic_(result);
}

Kernel Kernel::resolve(const Node& node, PythonOperators* python) {
  std::string why;
  if (std::optional<Kernel> kernel = find(node, why)) {
    kernel->leaves_content_open_ = makes_open_content(node.target);
    return *std::move(kernel);
  }
  if (python == nullptr) unavailable(node, why);
  try {
    return from_python(python->find(node.target));
  } catch (const Error& error) {
    unavailable(node, fmt::format("{}, and Python cannot run it: {}", why, error.what()));
  }
}

Kernel Kernel::resolve(const SubgraphCall& call, PythonOperators* python) {
  const Node& node = call.operands;
  if (python == nullptr) unavailable(node, "calls graphs, which only Python can do");
  try {
    return from_python(python->make(call));
  } catch (const Error& error) {
    unavailable(node, fmt::format("calls graphs, and Python cannot run it: {}", error.what()));
  }
}

std::optional<Kernel> Kernel::find(const Node& node, std::string& why) {
  if (node.target == "getitem") return from_prim(kGetItem, node);
  if (node.target.starts_with(kPrims)) return find_prim_kernel(node, why);
  if (const Prim* function = find_number_function(node.target)) return from_prim(*function, node);
  return find_operator_kernel(node, why);
}

std::optional<Kernel> Kernel::find_prim_kernel(const Node& node, std::string& why) {
  const std::size_t end = node.target.find('.', kPrims.size());
  const std::string name = node.target.substr(kPrims.size(), end - kPrims.size());
  if (const Prim* prim = find_prim(name)) return from_prim(*prim, node);
  why = "is registered from Python, and the reference has no C++ form of it";
  return std::nullopt;
}

std::optional<Kernel> Kernel::find_operator_kernel(const Node& node, std::string& why) {
  const std::optional<c10::OperatorHandle> found = find_operator(split_target(node));
  if (!found) {
    why = "is not registered in libtorch";
    return std::nullopt;
  }
  if (!found->hasComputedKernelForDispatchKey(c10::DispatchKey::CPU)) {
    why = "has no kernel for the CPU in libtorch";
    return std::nullopt;
  }
  Kernel kernel;
  // The dispatcher keeps its operators for the life of the process.
  kernel.schema_ =
      std::shared_ptr<const c10::FunctionSchema>(std::shared_ptr<void>(), &found->schema());
  if (found->hasTag(at::Tag::nondeterministic_seeded)) kernel.randomness_ = Randomness::kGenerator;
  kernel.operator_ = *found;
  return kernel;
}

Kernel Kernel::from_prim(const Prim& prim, const Node& node) {
  Kernel kernel;
  kernel.schema_ = std::make_shared<const c10::FunctionSchema>(
      torch::jit::parseSchema("prims::" + std::string(prim.schema)));
  kernel.function_ = prim.function;
  kernel.randomness_ = prim.randomness;
  if (prim.function != nullptr) return kernel;

  kernel.operator_ = find_operator({std::string(prim.aten), std::string(prim.overload)});
  if (!kernel.operator_) unavailable(node, "needs an operator that this libtorch does not have");
  const std::vector<c10::Argument>& arguments = kernel.operator_->schema().arguments();
  for (std::size_t i = kernel.schema_->arguments().size(); i < arguments.size(); ++i) {
    kernel.trailing_defaults_.push_back(arguments[i].default_value().value());
  }
  return kernel;
}

Kernel Kernel::from_python(std::shared_ptr<const PythonOperator> found) {
  Kernel kernel;
  kernel.schema_ = found->schema();
  if (found->draws_random_numbers()) kernel.randomness_ = Randomness::kGenerator;
  kernel.python_ = std::move(found);
  return kernel;
}

}  // namespace fuseproof
