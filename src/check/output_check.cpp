#include "check/output_check.h"

#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compare/convert.h"
#include "compare/errors.h"
#include "compare/tolerance.h"
#include "verdict/controls.h"

namespace fuseproof {
namespace {

std::string index_text(std::uint64_t element, const std::vector<std::int64_t>& shape) {
  std::vector<std::uint64_t> index(shape.size());
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    const auto size = static_cast<std::uint64_t>(shape[dim]);
    index[dim] = element % size;
    element /= size;
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

template <typename Integer>
std::string integer_at(const Packed& packed, std::uint64_t element) {
  Integer value;
  std::memcpy(&value, packed.bytes.data() + element * sizeof(value), sizeof(value));
  return fmt::format("{}", value);
}

// All digits, where a double would round.
std::string integer_text(const Packed& packed, std::uint64_t element) {
  if (packed.dtype == DType::kInt64) return integer_at<std::int64_t>(packed, element);
  if (packed.dtype == DType::kUint64) return integer_at<std::uint64_t>(packed, element);
  return fmt::format("{:.0f}", value_at(packed, element));
}

// A NaN has no sign that anybody means.
std::string number_text(double value, int digits) {
  return std::isnan(value) ? "nan" : fmt::format("{:.{}g}", value, digits);
}

std::string complex_text(double real, double imaginary, int digits) {
  const std::string second = number_text(imaginary, digits);
  return fmt::format("{}{}{}j", number_text(real, digits), second.starts_with('-') ? "" : "+",
                     second);
}

std::string value_text(const Packed& packed, std::uint64_t element) {
  const DTypeClass kind = dtype_class(packed.dtype);
  if (kind == DTypeClass::kBool) return value_at(packed, element) != 0 ? "True" : "False";
  if (kind == DTypeClass::kInteger) return integer_text(packed, element);
  if (kind == DTypeClass::kComplex) {
    return complex_text(value_at(packed, 2 * element), value_at(packed, 2 * element + 1), 9);
  }
  return number_text(value_at(packed, element), 9);
}

// The metadata of the two sides, which come before any number.
bool judge_metadata(const OutputSides& sides, OutputResult& result) {
  const Layout& kernel = sides.kernel.layout;
  const Layout& eager = sides.eager.layout;
  if (kernel.dtype != eager.dtype) {
    result.judgement = {Verdict::kKernelWrong, DifferenceKind::kDtype,
                        fmt::format("the kernel writes {}, the fragment gives {}",
                                    dtype_name(kernel.dtype), dtype_name(eager.dtype)),
                        std::nullopt};
    return false;
  }
  if (kernel.shape != eager.shape) {
    result.judgement = {Verdict::kKernelWrong, DifferenceKind::kShape,
                        fmt::format("the kernel writes {}, the fragment gives {}",
                                    to_string(kernel), to_string(eager)),
                        std::nullopt};
    return false;
  }
  return true;
}

void describe_worst(const OutputSides& sides, const std::vector<double>& exact,
                    OutputResult& result) {
  if (!result.judgement.worst_element) return;
  const bool is_complex = dtype_class(sides.eager.layout.dtype) == DTypeClass::kComplex;
  const std::uint64_t element = *result.judgement.worst_element;
  result.worst_index = index_text(element, sides.eager.layout.shape);
  result.kernel_value = value_text(sides.kernel.view(), element);
  result.eager_value = value_text(sides.eager.view(), element);
  if (exact.empty()) return;
  result.exact_value = is_complex ? complex_text(exact[2 * element], exact[2 * element + 1], 17)
                                  : number_text(exact[element], 17);
}

void record_errors(const OutputEvidence& evidence, OutputResult& result) {
  if (evidence.exact.empty()) return;
  const Errors errors =
      compare_errors(evidence.kernel, evidence.eager, evidence.exact, evidence.envelope, {});
  result.kernel_error = errors.kernel.max_abs;
  result.eager_error = errors.eager.max_abs;
}

// Looks for a control that passes where the kernel did.
void apply_controls(const OutputEvidence& evidence, const std::vector<Packed>& others,
                    const PassesCheck& passes, OutputResult& result) {
  if (is_finding(result.judgement) || result.judgement.verdict == Verdict::kNoOracle) return;
  const std::string control = passing_control(evidence, others, passes);
  if (control.empty()) return;
  if (result.judgement.verdict != Verdict::kMatch) {
    // A difference that is explained stays the news; that nothing else is shown goes with it.
    result.judgement.message += "; " + control;
    return;
  }
  result.judgement = {Verdict::kShowsNothing, DifferenceKind::kNone, control, std::nullopt};
}

void judge_by_default(const OutputSides& sides, const std::vector<Packed>& others,
                      const CheckSettings& settings, OutputResult& result) {
  const OutputEvidence plain = evidence_of(sides);
  DefaultJudge judge(sides, settings.profile);
  OutputEvidence evidence = plain;
  result.judgement = judge.judge_kernel(evidence);
  record_errors(evidence, result);
  const auto passes = [&](std::span<const std::byte> control) {
    OutputEvidence changed = plain;
    changed.kernel.bytes = control;
    return passes_check(judge.judge_control(changed));
  };
  apply_controls(plain, others, passes, result);
  describe_worst(sides, judge.exact(), result);
}

void judge_by_cann(const OutputSides& sides, const std::vector<Packed>& others,
                   const CheckSettings& settings, OutputResult& result) {
  const OutputEvidence evidence = evidence_of(sides);
  const std::string& name = result.node.empty() ? result.buffer : result.node;
  CannResult cann = judge_cann(name, evidence, settings.cann);
  result.judgement = std::move(cann.judgement);
  result.cann_line = std::move(cann.line);
  const auto passes = [&](std::span<const std::byte> control) {
    OutputEvidence changed = evidence;
    changed.kernel.bytes = control;
    return passes_check(judge_cann(name, changed, settings.cann).judgement);
  };
  apply_controls(evidence, others, passes, result);
  describe_worst(sides, {}, result);
}

}  // namespace

void judge_output(const OutputSides& sides, const std::vector<Packed>& others,
                  const CheckSettings& settings, OutputResult& result) {
  result.layout = to_string(sides.kernel.layout);
  if (!judge_metadata(sides, result)) return;
  if (settings.criteria == Criteria::kCann) {
    judge_by_cann(sides, others, settings, result);
  } else {
    judge_by_default(sides, others, settings, result);
  }
  if (result.judgement.difference == DifferenceKind::kNone) return;
  result.minimum_tolerance = minimum_tolerance(sides.eager.view(), sides.kernel.view());
}

void judge_other_run(const OutputSides& sides, const OutputSide& other, const std::string& message,
                     const std::vector<Packed>& others, const CheckSettings& settings,
                     OutputResult& result) {
  OutputSides again = sides;
  again.kernel = other;
  OutputResult second = result;
  judge_output(again, others, settings, second);
  if (worse(result.judgement.verdict, second.judgement.verdict) != result.judgement.verdict) {
    result = std::move(second);
  }
  Judgement& judgement = result.judgement;
  if (!passes_check(judgement)) {
    judgement = {Verdict::kNondeterministic, DifferenceKind::kValue,
                 message + "; " + judgement.message, judgement.worst_element};
  } else if (!sides.accumulates_in_open_order) {
    judgement = {Verdict::kNondeterministic, DifferenceKind::kValue,
                 message + ", each within bounds", judgement.worst_element};
  } else {
    judgement = {Verdict::kUnspecified, DifferenceKind::kValue,
                 message +
                     ", each within bounds: torch.use_deterministic_algorithms names index_put "
                     "with accumulate=True on the CPU among the \"normally-nondeterministic "
                     "operations\"",
                 judgement.worst_element};
  }
}

}  // namespace fuseproof
