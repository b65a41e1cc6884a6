#include "reference/float64_run.h"

#include <algorithm>
#include <optional>

#include <c10/core/DefaultDtype.h>
#include <fmt/format.h>

#include "graph/op_kinds.h"
#include "reference/tensors.h"

namespace fuseproof {
namespace {

using c10::IValue;

// Why the float64 opinion ends.
struct NoOracle {
  std::string reason;
};

[[noreturn]] void no_oracle(const Step& step, const std::string& why) {
  throw NoOracle{fmt::format("{} (node `{}`) {}", step.target, step.name, why)};
}

// Operators that take no dtype take torch's default one: float64 while a widened step runs.
class Float64Default {
 public:
  Float64Default() : before_(c10::get_default_dtype()) {
    c10::set_default_dtype(caffe2::TypeMeta::Make<double>());
  }
  ~Float64Default() { c10::set_default_dtype(before_); }
  Float64Default(const Float64Default&) = delete;
  Float64Default& operator=(const Float64Default&) = delete;

 private:
  caffe2::TypeMeta before_;
};

template <typename Visitor>
void for_each_tensor(const IValue& value, Visitor&& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elements()) for_each_tensor(element, visit);
  } else if (value.isList()) {
    for (const IValue& element : value.toListRef()) for_each_tensor(element, visit);
  }
}

bool holds_inexact(const IValue& value) {
  bool result = value.isDouble() || value.isComplexDouble();
  for_each_tensor(value, [&](const at::Tensor& tensor) {
    result = result || is_inexact(tensor.scalar_type());
  });
  return result;
}

IValue widened_value(const IValue& native, Widening widening) {
  if (native.isTensor()) {
    const at::Tensor& tensor = native.toTensor();
    if (!tensor.defined() || !is_inexact(tensor.scalar_type())) return native;
    return restrided(tensor.to(widened(tensor.scalar_type(), widening)), tensor.strides());
  }
  if (native.isTuple()) {
    std::vector<IValue> elements;
    for (const IValue& element : native.toTupleRef().elements()) {
      elements.push_back(widened_value(element, widening));
    }
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  if (native.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : native.toTensorVector()) {
      list.push_back(widened_value(tensor, widening).toTensor());
    }
    return list;
  }
  return native;
}

at::Tensor rounded_value(const at::Tensor& wide, at::ScalarType dtype) {
  return restrided(wide.to(dtype).to(wide.scalar_type()), wide.strides());
}

// What the step's kernel may write to.
struct Mutation {
  bool writes_inexact = false;
  bool writes_exact = false;
};

Mutation mutation_of(const Step& step, const Environment& environment) {
  Mutation mutation;
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    const c10::AliasInfo* alias = step.kernel.schema().arguments()[i].alias_info();
    if (alias == nullptr || !alias->isWrite()) continue;
    const Operand& operand = step.operands[i];
    const auto note = [&](const Operand& source) {
      if (source.kind != Operand::Kind::kSlot) return;
      for_each_tensor(environment[source.slot], [&](const at::Tensor& tensor) {
        (is_inexact(tensor.scalar_type()) ? mutation.writes_inexact : mutation.writes_exact) = true;
      });
    };
    note(operand);
    for (const Operand& element : operand.elements) note(element);
  }
  return mutation;
}

const at::Tensor* tensor_operand(const Step& step, const Environment& environment,
                                 std::size_t index) {
  const Operand& operand = step.operands[index];
  if (operand.kind != Operand::Kind::kSlot || !environment[operand.slot].isTensor()) return nullptr;
  return &environment[operand.slot].toTensor();
}

bool is_bit_cast(const Step& step) {
  return step.target == "aten.view.dtype" || step.target == "prims.view_of_dtype.default" ||
         step.target == "aten.view_copy.dtype";
}

// Why a step's meaning hangs on the bits of its argument's dtype, after it has run; "" where it
// does not.
std::string bit_operation(const Step& step, const Environment& environment) {
  if (step.target == "aten.nextafter.default" || step.target == "prims.nextafter.default") {
    return "asks for the neighbour in the argument's own dtype";
  }
  if (!is_bit_cast(step)) return "";
  const at::Tensor* from = tensor_operand(step, environment, 0);
  const at::Tensor& to = environment[step.result].toTensor();
  if (from == nullptr || from->scalar_type() == to.scalar_type()) return "";
  const bool is_of_floats = is_inexact(from->scalar_type()) || is_inexact(to.scalar_type());
  return is_of_floats ? "reads the bits of one dtype as another" : "";
}

// One widened tensor beside the native one that it stands for.
at::Tensor merged_tensor(const Step& step, const at::Tensor& native, const at::Tensor& wide) {
  if (!native.defined() || !is_inexact(native.scalar_type())) return native;
  if (!wide.defined() || wide.sizes() != native.sizes()) {
    no_oracle(step, "gives another shape in float64");
  }
  const at::ScalarType dtype = widened(native.scalar_type(), Widening::kFloat64);
  if (step.kernel.runs_in_python() && wide.scalar_type() != dtype) {
    no_oracle(step, "computes in a dtype of its own");
  }
  const at::Tensor exact = wide.scalar_type() == dtype ? wide : wide.to(dtype);
  return restrided(exact, native.strides());
}

// The widened result with its integer parts replaced by the native ones.
IValue merged(const Step& step, const IValue& native, const IValue& wide) {
  if (native.isTensor() && wide.isTensor()) {
    return merged_tensor(step, native.toTensor(), wide.toTensor());
  }
  if (native.isTuple() && wide.isTuple()) {
    std::vector<IValue> elements;
    for (std::size_t i = 0; i < native.toTupleRef().size(); ++i) {
      elements.push_back(
          merged(step, native.toTupleRef().elements()[i], wide.toTupleRef().elements()[i]));
    }
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  if (native.isTensorList() && wide.isTensorList()) {
    const std::vector<at::Tensor> parts = native.toTensorVector();
    const std::vector<at::Tensor> wide_parts = wide.toTensorVector();
    if (parts.size() != wide_parts.size()) no_oracle(step, "gives another list in float64");
    c10::List<at::Tensor> list;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      list.push_back(merged_tensor(step, parts[i], wide_parts[i]));
    }
    return list;
  }
  return holds_inexact(native) ? wide : native;
}

void run_widened(const Step& step, const Environment& native, Environment& wide) {
  NativePolicy policy;
  try {
    const Float64Default guard;
    wide.run(step, policy, Widening::kFloat64);
  } catch (const StepFailure& failure) {
    if (failure.cause == StepFailure::Cause::kOutOfMemory) throw;
    throw NoOracle{fmt::format("{} has no float64 form: {}", step.target, failure.message)};
  }
  wide[step.result] = merged(step, native[step.result], wide[step.result]);
}

// `native` has run the step already.
void follow(const Step& step, const Environment& native, Environment& wide, Mutation mutation) {
  if (const std::string reason = bit_operation(step, native); !reason.empty()) {
    no_oracle(step, reason);
  }
  const IValue& result = native[step.result];
  const bool is_pinned = !holds_inexact(result) && !mutation.writes_inexact;
  if (is_pinned) {
    wide[step.result] = result;
  } else if (decides(step.target) && !mutation.writes_inexact) {
    wide[step.result] = widened_value(result, Widening::kFloat64);
  } else if (step.kernel.draws_random_numbers()) {
    if (mutation.writes_inexact) no_oracle(step, "draws random numbers in place");
    wide[step.result] = widened_value(result, Widening::kFloat64);
  } else {
    if (mutation.writes_exact) no_oracle(step, "writes to integers and to floats");
    if (step.kernel.calls_subgraphs()) {
      no_oracle(step, "calls graphs, whose casts and decisions only a native run gives");
    }
    run_widened(step, native, wide);
  }
}

}  // namespace

Float64Run run_in_float64(const Program& program, Environment& native, Environment& wide,
                          StepPolicy& policy, Progress* progress) {
  Float64Run result;
  for (const Step& step : program.steps) {
    mark(step, progress);
    const Mutation mutation = mutation_of(step, native);
    native.run(step, policy, Widening::kNone);
    try {
      if (result.no_oracle.empty()) follow(step, native, wide, mutation);
    } catch (const NoOracle& end) {
      result.no_oracle = end.reason;
    }
    native.free_last_uses(step);
    wide.free_last_uses(step);
  }
  return result;
}

void run_free(const Program& program, Environment& wide, Widening widening,
              const RoundedSlots& rounded, Progress* progress) {
  std::optional<Float64Default> guard;
  if (widening == Widening::kFloat64) guard.emplace();
  NativePolicy policy;
  for (const Step& step : program.steps) {
    mark(step, progress);
    if (step.kernel.randomness() == Randomness::kGenerator) {
      throw StepFailure{
          fmt::format("{} (node `{}`) draws from the generator", step.target, step.name)};
    }
    if (step.kernel.calls_subgraphs()) {
      throw StepFailure{fmt::format("{} (node `{}`) calls graphs, which cannot be widened",
                                    step.target, step.name)};
    }
    wide.run(step, policy, widening);
    if (const std::string reason = bit_operation(step, wide); !reason.empty()) {
      throw StepFailure{fmt::format("{} (node `{}`) {}", step.target, step.name, reason)};
    }
    if (step.kernel.draws_random_numbers()) {
      wide[step.result] = widened_value(wide[step.result], widening);
    }
    if (const auto found = rounded.find(step.result); found != rounded.end()) {
      wide[step.result] = rounded_value(wide[step.result].toTensor(), found->second);
    }
    wide.free_last_uses(step);
  }
}

}  // namespace fuseproof
