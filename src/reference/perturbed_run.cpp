#include "reference/perturbed_run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/where.h>

#include "graph/op_kinds.h"
#include "reference/accumulation.h"
#include "reference/sequential_sum.h"
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

bool is_float(const at::Tensor& tensor) {
  return tensor.defined() && at::isFloatingType(tensor.scalar_type());
}

// Of the significands of a float tensor, or of those in a list or tuple. None where there is no
// float.
std::optional<int> fewest_bits(const IValue& value) {
  if (value.isTensor()) {
    if (!is_float(value.toTensor())) return std::nullopt;
    return dtype_significand_bits(dtype_of(value.toTensor()));
  }
  std::optional<int> fewest;
  const auto add = [&](const IValue& element) {
    const std::optional<int> bits = fewest_bits(element);
    if (bits) fewest = std::min(*bits, fewest.value_or(*bits));
  };
  if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elements()) add(element);
  } else if (value.isList()) {
    for (const IValue& element : value.toListRef()) add(element);
  }
  return fewest;
}

enum class Moment : std::uint8_t { kVariance, kDeviation };

// Draws everything at random that a disturbed run needs.
class Disturber : public StepPolicy {
 public:
  explicit Disturber(std::uint64_t seed)
      : generator_(at::detail::createCPUGenerator(seed)),
        keeps_order_(seed % kInOrder == 0),
        shape_(shape_of(seed / kInOrder)) {}

  void execute(const Step& step, torch::jit::Stack& stack) override {
    move_halves(step, stack);
    move_factors(step, stack);
    if (step.accumulates) {
      accumulate(step, stack);
      return;
    }
    if (!reduces(step.target) || stack.empty() || !stack[0].isTensor()) {
      step.kernel.call(stack);
      return;
    }
    const at::Tensor input = stack[0].toTensor();
    const std::vector<std::int64_t> dims = reduced_dims(step, stack, input.dim());
    const at::Tensor shuffled = permuted(input, dims);
    stack[0] = shuffled;
    step.kernel.call(stack);
    if (at::isFloatingType(input.scalar_type())) refold(step, shuffled, dims, stack);
  }

  // Called after a step, with its result: remembers which values carry half-precision rounding.
  void note_halves(const Step& step, const IValue& result) {
    const std::optional<int> bits = fewest_bits(result);
    if (!bits) return;
    const bool is_half = *bits < kFloat32SignificandBits;
    if (is_half && step.rounds) {
      half_bits_[step.result] = *bits;
    } else if ((moves_values(step.target) || is_cast(step)) && !step.operands.empty()) {
      // Of several results, only some may be in half precision.
      if (step.target == "getitem" && !is_half) return;
      const auto source = half_bits_.find(step.operands[0].slot);
      if (source != half_bits_.end()) half_bits_[step.result] = source->second;
    }
  }

  // The value moved by a unit or two in the last place; half precision when it is used.
  IValue moved(const IValue& value) {
    if (value.isTensor()) return moved_tensor(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(moved_tensor(tensor));
      return list;
    }
    if (!value.isTuple()) return value;
    std::vector<IValue> elements;
    for (const IValue& element : value.toTupleRef().elements()) elements.push_back(moved(element));
    return c10::ivalue::Tuple::create(std::move(elements));
  }

 private:
  // With the addends in another order, and each sum moved by a rounding of its partial sums: few
  // addends have few orders, and not each of them comes up.
  void accumulate(const Step& step, torch::jit::Stack& stack) {
    const std::optional<Addends> addends = addends_of(step, stack);
    if (!addends || keeps_order_ || !is_float(stack[0].toTensor())) {
      step.kernel.call(stack);
      return;
    }
    const at::Tensor before = stack[0].toTensor().clone();
    const at::Tensor order = reordered(at::arange(addends->places.size(0), at::kLong), 0);
    const at::Tensor sums = accumulated(
        before, {addends->places.index_select(0, order), addends->values.index_select(0, order)});
    const at::Tensor result = moved_sums(sums, before, *addends);
    step.kernel.call(stack);
    if (writes_arguments(step)) {
      stack.back().toTensor().copy_(result);
    } else {
      replace(stack.back(), result);
    }
  }

  at::Tensor moved_sums(const at::Tensor& sums, const at::Tensor& before, const Addends& addends) {
    const auto count = [](const at::Tensor& values) {
      return values.ne(0).to(values.scalar_type());
    };
    const at::Tensor sizes = accumulated(before.abs(), {addends.places, addends.values.abs()});
    const at::Tensor counts = accumulated(count(before), {addends.places, count(addends.values)});
    const double unit = std::ldexp(1.0, -dtype_significand_bits(dtype_of(sums)));
    const at::Tensor moves = steps(sums.numel()).view(sums.sizes()).mul(unit).mul(sizes);
    return at::where(counts.gt(1), sums.add(moves).to(sums.scalar_type()), sums);
  }

  static bool is_cast(const Step& step) {
    return step.target.starts_with("prims.convert_element_type.") ||
           step.target.starts_with("aten._to_copy.");
  }

  // A kernel computes half precision in float32, and may give one user of a value the rounded one
  // and another the unrounded: each use is moved by half a unit of its own.
  void move_halves(const Step& step, torch::jit::Stack& stack) {
    if (moves_values(step.target) || is_cast(step) || writes_arguments(step) ||
        aliases_an_argument(step)) {
      return;
    }
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      const auto half = half_bits_.find(step.operands[i].slot);
      if (half == half_bits_.end() || !stack[i].isTensor() || !is_float(stack[i].toTensor()))
        continue;
      stack[i] = moved_by(stack[i].toTensor(), std::ldexp(1.0, -half->second));
    }
  }

  // Operators that round a product or a quotient before they add it: where the sum cancels, that
  // rounding shows, and kernels make another of it (one instruction, or an order of their own).
  void move_factors(const Step& step, torch::jit::Stack& stack) {
    if (stack.size() > 1 && adds_a_product(step, stack)) stack[1] = moved(stack[1]);
  }

  static bool adds_a_product(const Step& step, const torch::jit::Stack& stack) {
    constexpr std::string_view kNames[] = {
        "aten.addcmul.",          "aten.addcdiv.",          "aten.lerp.",
        "aten._foreach_addcmul.", "aten._foreach_addcdiv.", "aten._foreach_lerp."};
    for (const std::string_view name : kNames) {
      if (step.target.starts_with(name)) return true;
    }
    const auto& arguments = step.kernel.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].name() == "alpha")
        return stack[i].isScalar() && !stack[i].toScalar().equal(1);
    }
    return false;
  }

  // Vector math is within a unit or two of the right value.
  at::Tensor moved_tensor(const at::Tensor& tensor) {
    if (!is_float(tensor)) return tensor;
    const int bits = dtype_significand_bits(dtype_of(tensor));
    return bits < kFloat32SignificandBits ? tensor : moved_by(tensor, std::ldexp(1.0, 1 - bits));
  }

  at::Tensor moved_by(const at::Tensor& tensor, double step) {
    const int bits = dtype_significand_bits(dtype_of(tensor));
    const at::ScalarType wide =
        bits > 24 ? at::ScalarType(at::kDouble) : at::ScalarType(at::kFloat);
    const at::Tensor factors = steps(tensor.numel()).to(wide).mul(step).add(1).view(tensor.sizes());
    return restrided(tensor.to(wide).mul(factors).to(tensor.scalar_type()), tensor.strides());
  }

  // Steps up and down at random, of 0.25 to 1.25 and never of one size, so that two in a row do not
  // cancel: one pattern of a prime length, begun at a random place and repeated. Fresh numbers for
  // each element of a large tensor would cost more than the run.
  at::Tensor steps(std::int64_t count) {
    constexpr std::int64_t kPeriod = 65521;
    if (!pattern_.defined()) {
      const at::TensorOptions options = at::TensorOptions().dtype(at::kFloat);
      const at::Tensor signs = at::randint(0, 2, {kPeriod}, generator_, options).mul(2).sub(1);
      pattern_ = at::rand({kPeriod}, generator_, options).add(0.25).mul(signs);
    }
    const at::Tensor begin =
        at::randint(0, kPeriod, {1}, generator_, at::TensorOptions().dtype(at::kLong));
    const at::Tensor rolled = pattern_.roll({begin.item<std::int64_t>()});
    return rolled.repeat({count / kPeriod + 1}).narrow(0, 0, count);
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

  // A random permutation; for long dimensions, where that would cost more than the run, a rotation.
  at::Tensor reordered(const at::Tensor& tensor, std::int64_t dim) {
    constexpr std::int64_t kLong = 65536;
    const std::int64_t size = tensor.size(dim);
    const at::TensorOptions integers = at::TensorOptions().dtype(at::kLong);
    if (size > kLong) {
      const at::Tensor shift = at::randint(0, size, {1}, generator_, integers);
      return tensor.roll({shift.item<std::int64_t>()}, {dim});
    }
    return tensor.index_select(dim, at::randperm(size, generator_, integers));
  }

  at::Tensor permuted(const at::Tensor& input, const std::vector<std::int64_t>& dims) {
    if (keeps_order_) return input;
    at::Tensor tensor = input;
    for (const std::int64_t dim : dims) {
      if (tensor.dim() == 0 || tensor.size(dim) < 2) continue;
      tensor = reordered(tensor, dim);
    }
    return tensor;
  }

  // Sums and means are folded as a kernel folds them, and variances given the spread of such a
  // fold.
  void refold(const Step& step, const at::Tensor& input, const std::vector<std::int64_t>& dims,
              torch::jit::Stack& stack) {
    const std::string_view target = step.target;
    const bool is_mean = target.find(".mean") != std::string_view::npos;
    if (is_mean || target.find(".sum") != std::string_view::npos) {
      replace(stack.back(), folded(input, dims, is_mean, accumulator_of(input, stack.back())));
      return;
    }
    const bool is_variance = target.find(".var") != std::string_view::npos;
    if (!is_variance && target.find(".std") == std::string_view::npos) return;
    const Moment moment = is_variance ? Moment::kVariance : Moment::kDeviation;
    if (stack.size() == 2) {  // var_mean, std_mean
      replace(stack[1], folded(input, dims, true, accumulator_of(input, stack[1])));
      const at::Tensor value = stack[0].toTensor().to(at::kDouble);
      spread_mean(stack[1], is_variance ? value.sqrt() : value);
    }
    spread(stack.front(), input, dims, moment);
  }

  static void replace(IValue& result, const at::Tensor& values) {
    const at::Tensor before = result.toTensor();
    result = restrided(values.reshape(before.sizes()).to(before.scalar_type()), before.strides());
  }

  static std::int64_t reduced_count(const at::Tensor& input,
                                    const std::vector<std::int64_t>& dims) {
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= input.dim() == 0 ? 1 : input.size(dim);
    return count;
  }

  // A reduction adds up in float64 where its input or its result is that wide, else in float32.
  static at::ScalarType accumulator_of(const at::Tensor& input, const IValue& result) {
    const bool is_double =
        input.scalar_type() == at::kDouble || result.toTensor().scalar_type() == at::kDouble;
    return is_double ? at::kDouble : at::kFloat;
  }

  at::Tensor folded(const at::Tensor& input, const std::vector<std::int64_t>& dims, bool is_mean,
                    at::ScalarType dtype) const {
    const std::int64_t count = reduced_count(input, dims);
    if (input.dim() == 0 || count == 0) return input.to(dtype).sum(dims);
    std::vector<std::int64_t> front(dims.size());
    for (std::size_t i = 0; i < front.size(); ++i) front[i] = static_cast<std::int64_t>(i);
    const at::Tensor rows = input.to(dtype).movedim(dims, front);
    const at::Tensor sum = sequential_sum(rows.reshape({count, rows.numel() / count}), shape_);
    return is_mean ? sum.div(count) : sum;
  }

  // Errors of Welford's fold over N elements, in units of a rounding: a random walk of N additions,
  // and in the last of the N terms that of the rounded mean from which its distance is taken,
  // larger by the variance's condition number sqrt(1 + mean^2 / variance) (Chan, Golub and LeVeque,
  // "Algorithms for Computing the Sample Variance", 1983). What a running mean drifts before that,
  // a kernel has to answer for. A deviation has half of its variance's relative error.
  void spread(IValue& result, const at::Tensor& input, const std::vector<std::int64_t>& dims,
              Moment moment) {
    const at::Tensor before = result.toTensor();
    const int bits = std::max(kFloat32SignificandBits, dtype_significand_bits(dtype_of(before)));
    const auto count = static_cast<double>(std::max<std::int64_t>(reduced_count(input, dims), 1));
    const at::Tensor value = before.to(at::kDouble);
    const at::Tensor mean =
        (input.dim() == 0 ? input : input.mean(dims)).to(at::kDouble).reshape(before.sizes());
    const bool is_variance = moment == Moment::kVariance;
    const at::Tensor variance = is_variance ? value : value.square();
    const at::Tensor over_variance =
        variance.mul(count).add(variance.add(mean.square()).div(count * count));
    const at::Tensor scale =
        (is_variance ? over_variance.mul(variance) : over_variance.div(4)).sqrt();
    const at::Tensor steps =
        at::randn(before.sizes(), generator_, at::TensorOptions().dtype(at::kDouble));
    replace(result, value.add(steps.mul(scale).mul(std::ldexp(1.0, -bits))));
  }

  // Welford's mean moves by a fraction of each element's distance from it, which is rounded. The
  // deviation is float64, and NaN where there is one element: that has no distance.
  void spread_mean(IValue& mean, const at::Tensor& deviation) {
    const at::Tensor before = mean.toTensor();
    const int bits = std::max(kFloat32SignificandBits, dtype_significand_bits(dtype_of(before)));
    const at::TensorOptions wide = at::TensorOptions().dtype(at::kDouble);
    const at::Tensor steps = at::randn(before.sizes(), generator_, wide);
    const at::Tensor distance = deviation.reshape(before.sizes()).nan_to_num(0);
    replace(mean, before.to(at::kDouble).add(steps.mul(distance).mul(std::ldexp(1.0, -bits))));
  }

  // Every second run the elements stay in their order: data that begin with one sign and end with
  // the other have larger partial sums, and errors, that way than in any order at random.
  static constexpr std::uint64_t kInOrder = 2;

  // Columns are summed in one lane, rows in as many as a vector has, by one thread or by all.
  static SumShape shape_of(std::uint64_t number) {
    const std::int64_t threads = at::get_num_threads();
    const SumShape shapes[] = {{1, 1}, {1, threads}, {8, 1}, {16, 1}, {16, threads}, {32, 1}};
    return shapes[number % std::size(shapes)];
  }

  at::Generator generator_;
  bool keeps_order_;
  SumShape shape_;
  at::Tensor pattern_;                      // of steps()
  std::unordered_map<int, int> half_bits_;  // significand bits, by the slot of the value
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
      disturber.note_halves(step, environment[step.result]);
      if (output_slots.contains(step.result)) outputs[step.result] = environment[step.result];
      if (step.rounds && !aliases_an_argument(step)) {
        environment[step.result] = disturber.moved(environment[step.result]);
      }
    }
    environment.free_last_uses(step);
  }
  for (auto& [slot, value] : outputs) environment[slot] = value;
}

}  // namespace fuseproof
