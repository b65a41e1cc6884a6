#include "reference/perturbed_run.h"

#include <cmath>
#include <map>
#include <string_view>
#include <unordered_set>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randperm.h>

#include "reference/tensors.h"

namespace fuseproof {
namespace {

using c10::IValue;

// Operators (without their overload) whose results are some of their arguments' values, unrounded.
const std::unordered_set<std::string_view> kExactOperators = {
    "aten.abs",
    "aten.amax",
    "aten.amin",
    "aten.argmax",
    "aten.as_strided",
    "aten.cat",
    "aten.ceil",
    "aten.clamp",
    "aten.clamp_max",
    "aten.clamp_min",
    "aten.clone",
    "aten.constant_pad_nd",
    "aten.copy",
    "aten.copysign",
    "aten.cummax",
    "aten.cummin",
    "aten.embedding",
    "aten.empty",
    "aten.empty_strided",
    "aten.fill",
    "aten.flip",
    "aten.floor",
    "aten.full",
    "aten.full_like",
    "aten.gather",
    "aten.gt",
    "aten.hardtanh",
    "aten.index",
    "aten.index_put",
    "aten.index_select",
    "aten.max",
    "aten.max_pool2d_with_indices",
    "aten.maximum",
    "aten.min",
    "aten.minimum",
    "aten.neg",
    "aten.new_full",
    "aten.new_zeros",
    "aten.ones",
    "aten.ones_like",
    "aten.relu",
    "aten.repeat",
    "aten.replication_pad2d",
    "aten.reflection_pad2d",
    "aten.round",
    "aten.scalar_tensor",
    "aten.scatter",
    "aten.select_scatter",
    "aten.sgn",
    "aten.sign",
    "aten.slice_scatter",
    "aten.sort",
    "aten.stack",
    "aten.topk",
    "aten.tril",
    "aten.triu",
    "aten.trunc",
    "aten.where",
    "aten.zeros",
    "aten.zeros_like",
    "aten._unsafe_index",
    "aten._unsafe_masked_index",
    "getitem",
    "prims.amax",
    "prims.amin",
    "prims.broadcast_in_dim",
    "prims.device_put",
    "prims.iota",
    "prims._low_memory_max_pool_with_offsets"};

// Operators whose result does not depend on the order of the elements along their `dim`, but for
// rounding.
const std::unordered_set<std::string_view> kReductions = {"aten.linalg_vector_norm",
                                                          "aten.logsumexp",
                                                          "aten.mean",
                                                          "aten.prod",
                                                          "aten.std",
                                                          "aten.std_mean",
                                                          "aten.sum",
                                                          "aten.var",
                                                          "aten.var_mean",
                                                          "prims.sum",
                                                          "prims.var"};

// "aten.add" of "aten.add.Tensor".
std::string_view operator_name(const std::string& target) {
  const std::size_t dot = target.rfind('.');
  return std::string_view(target).substr(0, dot);
}

bool aliases_an_argument(const Step& step) {
  for (const c10::Argument& result : step.kernel.schema().returns()) {
    if (result.alias_info() != nullptr) return true;
  }
  return false;
}

bool rounds(const Step& step) {
  return !aliases_an_argument(step) && !kExactOperators.contains(operator_name(step.target));
}

// Draws everything at random that a disturbed run needs.
class Disturber : public StepPolicy {
 public:
  explicit Disturber(std::uint64_t seed) : generator_(at::detail::createCPUGenerator(seed)) {}

  void execute(const Step& step, torch::jit::Stack& stack) override {
    if (kReductions.contains(operator_name(step.target))) permute_input(step, stack);
    step.kernel.call(stack);
  }

  // The value moved by one or two units in the last place.
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
    const int bits = dtype_significand_bits(dtype_of(tensor));
    const double step = std::ldexp(1.0, 1 - bits);
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

bool writes_arguments(const Step& step) {
  for (const c10::Argument& argument : step.kernel.schema().arguments()) {
    if (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) return true;
  }
  return false;
}

}  // namespace

void run_perturbed(const Program& program, Environment& native, Environment& disturbed,
                   std::uint64_t seed, Progress* progress) {
  const std::unordered_set<int> output_slots(program.outputs.begin(), program.outputs.end());
  std::map<int, IValue> outputs;  // as their operator left them
  Disturber disturber(seed);
  NativePolicy as_it_is;
  for (const Step& step : program.steps) {
    mark(step, progress);
    native.run(step, as_it_is, Widening::kNone);
    const IValue& result = native[step.result];
    // What is drawn at random is drawn once, for both runs.
    const bool is_shared = step.kernel.draws_random_numbers() && !writes_arguments(step);
    if (!is_shared && (holds_float(result) || writes_arguments(step))) {
      disturbed.run(step, disturber, Widening::kNone);
      if (output_slots.contains(step.result)) outputs[step.result] = disturbed[step.result];
      if (rounds(step)) disturbed[step.result] = disturber.moved(disturbed[step.result]);
    } else {
      disturbed[step.result] = result;
    }
    native.free_last_uses(step);
    disturbed.free_last_uses(step);
  }
  for (auto& [slot, value] : outputs) disturbed[slot] = value;
}

}  // namespace fuseproof
