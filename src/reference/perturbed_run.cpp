#include "reference/perturbed_run.h"

#include <cmath>
#include <map>
#include <unordered_set>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randperm.h>

#include "graph/op_kinds.h"
#include "reference/tensors.h"

namespace fuseproof {
namespace {

using c10::IValue;

bool aliases_an_argument(const Step& step) {
  for (const c10::Argument& result : step.kernel.schema().returns()) {
    if (result.alias_info() != nullptr) return true;
  }
  return false;
}

bool writes_arguments(const Step& step) {
  for (const c10::Argument& argument : step.kernel.schema().arguments()) {
    if (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) return true;
  }
  return false;
}

bool holds_float(const IValue& value) {
  if (value.isTensor()) {
    return value.toTensor().defined() && is_inexact(value.toTensor().scalar_type());
  }
  if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elements()) {
      if (holds_float(element)) return true;
    }
  }
  return value.isTensorList();
}

// Draws everything at random that a disturbed run needs.
class Disturber : public StepPolicy {
 public:
  explicit Disturber(std::uint64_t seed) : generator_(at::detail::createCPUGenerator(seed)) {}

  void execute(const Step& step, torch::jit::Stack& stack) override {
    if (reduces(step.target)) permute_input(step, stack);
    step.kernel.call(stack);
  }

  // The value moved by a unit or two in the last place.
  IValue moved(const IValue& value) {
    if (value.isTensor()) return moved_tensor(value.toTensor());
    if (!value.isTuple()) return value;
    std::vector<IValue> elements;
    for (const IValue& element : value.toTupleRef().elements()) elements.push_back(moved(element));
    return c10::ivalue::Tuple::create(std::move(elements));
  }

 private:
  at::Tensor moved_tensor(const at::Tensor& tensor) {
    if (!tensor.defined() || !at::isFloatingType(tensor.scalar_type())) return tensor;
    // Vector math is within a unit or two of the right value; half precision is computed in float32
    // and rounded, which is half a unit.
    const int bits = dtype_significand_bits(dtype_of(tensor));
    const double step = std::ldexp(1.0, bits < 24 ? -bits : 1 - bits);
    const at::Tensor signs =
        at::randint(0, 2, tensor.sizes(), generator_, at::TensorOptions().dtype(at::kDouble));
    const at::Tensor factors = signs.mul(2 * step).add(1 - step);
    return restrided(tensor.to(at::kDouble).mul(factors).to(tensor.scalar_type()),
                     tensor.strides());
  }

  static std::vector<std::int64_t> reduced_dims(const Step& step, const torch::jit::Stack& stack,
                                                std::int64_t rank) {
    std::vector<std::int64_t> dims;
    const auto& arguments = step.kernel.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].name() != "dim" && arguments[i].name() != "dims") continue;
      if (stack[i].isInt()) dims = {stack[i].toInt()};
      if (stack[i].isIntList()) dims = stack[i].toIntVector();
    }
    if (dims.empty()) {
      for (std::int64_t dim = 0; dim < rank; ++dim) dims.push_back(dim);
    }
    return dims;
  }

  void permute_input(const Step& step, torch::jit::Stack& stack) {
    if (stack.empty() || !stack[0].isTensor()) return;
    at::Tensor tensor = stack[0].toTensor();
    for (const std::int64_t dim : reduced_dims(step, stack, tensor.dim())) {
      if (tensor.dim() == 0 || tensor.size(dim) < 2) continue;
      const at::Tensor order =
          at::randperm(tensor.size(dim), generator_, at::TensorOptions().dtype(at::kLong));
      tensor = tensor.index_select(dim, order);
    }
    stack[0] = tensor;
  }

  at::Generator generator_;
};

}  // namespace

NativeResults run_for_decisions(const Program& program, Environment& environment,
                                Progress* progress) {
  NativeResults results;
  NativePolicy policy;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    mark(step, progress);
    environment.run(step, policy, Widening::kNone);
    const IValue& result = environment[step.result];
    // A view or a write must be of the disturbed run's own storages.
    const bool is_shareable = !writes_arguments(step) && !aliases_an_argument(step);
    if (is_shareable && step.kernel.draws_random_numbers()) {
      results.random[i] = result;
    } else if (is_shareable && (!holds_float(result) || decides(step.target))) {
      results.decisions[i] = result;
    }
    environment.free_last_uses(step);
  }
  return results;
}

void run_disturbed(const Program& program, Environment& environment, const NativeResults& native,
                   Decisions decisions, std::uint64_t seed, Progress* progress) {
  const std::unordered_set<int> output_slots(program.outputs.begin(), program.outputs.end());
  std::map<int, IValue> outputs;  // as their operator left them
  Disturber disturber(seed);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    mark(step, progress);
    const auto drawn = native.random.find(i);
    const auto decided = native.decisions.find(i);
    if (drawn != native.random.end()) {
      environment[step.result] = drawn->second;
    } else if (decisions == Decisions::kPinned && decided != native.decisions.end()) {
      environment[step.result] = decided->second;
    } else {
      environment.run(step, disturber, Widening::kNone);
      if (output_slots.contains(step.result)) outputs[step.result] = environment[step.result];
      if (rounds(step.target) && !aliases_an_argument(step)) {
        environment[step.result] = disturber.moved(environment[step.result]);
      }
    }
    environment.free_last_uses(step);
  }
  for (auto& [slot, value] : outputs) environment[slot] = value;
}

}  // namespace fuseproof
