#include "reference/open_results.h"

#include <cmath>
#include <string_view>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ScalarOps.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/where.h>

#include "reference/tensors.h"

namespace fuseproof {
namespace {

bool is_integer(at::ScalarType dtype) { return at::isIntegralType(dtype, /*includeBool=*/false); }

// Where the truncated value does not fit into the integer dtype, NaN included.
at::Tensor does_not_fit(const at::Tensor& values, at::ScalarType dtype) {
  const double bits = 8.0 * static_cast<double>(c10::elementSize(dtype));
  const bool is_signed = c10::isSignedType(dtype);
  const double high = std::exp2(is_signed ? bits - 1 : bits);  // the first that is too large
  const double low = is_signed ? -high : 0;
  const at::Tensor whole = values.to(at::kDouble).trunc();
  return (whole.ge(low)).logical_and(whole.lt(high)).logical_not();
}

// Where a shift is by less than 0 or by the width of its left operand.
at::Tensor is_past_width(const at::Tensor& shift, at::ScalarType dtype) {
  const auto bits = static_cast<std::int64_t>(8 * c10::elementSize(dtype));
  return shift.lt(0).logical_or(shift.ge(bits));
}

struct OpenPart {
  at::Tensor mask;  // undefined: nothing is open
  std::string_view sentence;
};

OpenPart open_part_of_cast(const at::Tensor& from, const at::Tensor& to) {
  constexpr std::string_view kSentence =
      "torch.Tensor.to: \"If the truncated value cannot fit into the target type … the behavior is "
      "undefined and the result may vary across platforms.\"";
  if (!at::isFloatingType(from.scalar_type()) || !is_integer(to.scalar_type())) return {};
  return {does_not_fit(from, to.scalar_type()), kSentence};
}

OpenPart open_part_of_shift(const at::Tensor& shift, const at::Tensor& result) {
  constexpr std::string_view kSentence =
      "torch.bitwise_left_shift: \"if the value of the right operand is negative or is greater or "
      "equal to the number of bits in the promoted left operand, the behavior is undefined.\"";
  return {is_past_width(shift, result.scalar_type()).expand(result.sizes()), kSentence};
}

bool is_shift(std::string_view target) {
  for (const std::string_view name :
       {"aten.__lshift__.", "aten.__rshift__.", "aten.bitwise_left_shift.",
        "aten.bitwise_right_shift.", "prims.shift_left.", "prims.shift_right_arithmetic."}) {
    if (target.starts_with(name)) return true;
  }
  return false;
}

bool is_cast(std::string_view target) {
  for (const std::string_view name :
       {"prims.convert_element_type.", "aten._to_copy.", "aten.to.", "aten.copy."}) {
    if (target.starts_with(name)) return true;
  }
  return false;
}

at::Tensor shift_operand(const at::IValue& value) {
  return value.isTensor() ? value.toTensor() : c10::scalar_to_tensor(value.toScalar());
}

}  // namespace

OpenResultsPolicy::OpenResultsPolicy(std::uint64_t seed)
    : generator_(at::detail::createCPUGenerator(seed)) {}

at::Tensor OpenResultsPolicy::drawn(const at::Tensor& result, const at::Tensor& is_open) {
  constexpr std::int64_t kEnd = 128;  // what every integer dtype holds
  const at::Tensor flips = at::empty_like(result).random_(1, kEnd, generator_);
  const at::Tensor others = result.bitwise_xor(flips);
  return restrided(at::where(is_open, others, result), result.strides());
}

void OpenResultsPolicy::draw_content(const at::Tensor& content) {
  constexpr double kScale = 100;
  const bool is_number = content.is_floating_point() || content.is_complex();
  const at::ScalarType dtype = is_number ? at::kFloat : at::kChar;
  at::Tensor drawn = at::empty(content.sizes(), content.options().dtype(dtype));
  if (is_number) {
    content.copy_(drawn.normal_(0, kScale, generator_));
  } else if (content.scalar_type() == at::kBool) {
    content.fill_(false);  // no other value than what it is given natively
  } else {
    content.copy_(drawn.random_(generator_));
  }
}

void OpenResultsPolicy::execute(const Step& step, torch::jit::Stack& stack) {
  if (step.kernel.leaves_content_open()) {
    step.kernel.call(stack);
    if (stack.back().toTensor().numel() == 0) return;
    draw_content(stack.back().toTensor());
    sentences_.insert("torch.empty: \"Returns a tensor filled with uninitialized data.\"");
    return;
  }
  const bool is_candidate =
      (is_cast(step.target) || is_shift(step.target)) && stack.size() > 1 && stack[0].isTensor();
  if (!is_candidate) {
    step.kernel.call(stack);
    return;
  }
  // aten.copy casts its second argument.
  const bool casts_second = step.target.starts_with("aten.copy.");
  const at::Tensor from = casts_second ? stack[1].toTensor() : stack[0].toTensor();
  const at::Tensor shift = is_shift(step.target) ? shift_operand(stack[1]) : at::Tensor();
  step.kernel.call(stack);
  const at::Tensor result = stack.back().toTensor();
  const OpenPart open =
      shift.defined() ? open_part_of_shift(shift, result) : open_part_of_cast(from, result);
  if (!open.mask.defined() || !open.mask.any().item<bool>()) return;
  sentences_.insert(std::string(open.sentence));
  stack.back() = drawn(result, open.mask);
}

}  // namespace fuseproof
