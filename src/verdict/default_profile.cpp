#include "verdict/default_profile.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compare/errors.h"
#include "compare/positions.h"
#include "compare/ulp.h"

namespace fuseproof {
namespace {

struct Disagreement {
  DifferenceKind kind = DifferenceKind::kNone;
  std::uint64_t count = 0;
  std::uint64_t first = 0;
};

// The gravest difference in position: NaN, then Inf, then the sign of zero, then any value.
Disagreement gravest(const Positions& positions) {
  if (positions.nan.count > 0) {
    return {DifferenceKind::kNan, positions.nan.count, positions.nan.first};
  }
  if (positions.inf.count > 0) {
    return {DifferenceKind::kInf, positions.inf.count, positions.inf.first};
  }
  if (positions.zero_sign.count > 0) {
    return {DifferenceKind::kSign, positions.zero_sign.count, positions.zero_sign.first};
  }
  return {DifferenceKind::kValue, positions.value.count, positions.value.first};
}

bool is_exact(DType dtype) {
  const DTypeClass kind = dtype_class(dtype);
  return kind == DTypeClass::kBool || kind == DTypeClass::kInteger;
}

bool is_half(const OutputEvidence& evidence) {
  return dtype_significand_bits(evidence.eager.dtype) < kFloat32SignificandBits;
}

ErrorTolerance tolerance_of(const OutputEvidence& evidence, const DefaultProfile& profile) {
  const double ulps = profile.opinion_ulps + profile.opinion_ulps_per_op * evidence.rounding_ops;
  if (!is_half(evidence)) return {.ulps = ulps, .envelope_factor = profile.envelope_factor};
  const int bits = dtype_significand_bits(evidence.eager.dtype);
  return {.ulps = 1 + std::ldexp(ulps, bits - kFloat32SignificandBits),
          .envelope_factor = profile.half_envelope_factor};
}

Errors errors_of(const OutputEvidence& evidence, std::span<const double> envelope,
                 const DefaultProfile& profile) {
  return compare_errors(evidence.kernel, evidence.eager, evidence.exact, envelope,
                        tolerance_of(evidence, profile));
}

double root_mean_square(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// Whether the errors as a whole are of the size that rounding gives.
bool has_moderate_rms(const OutputEvidence& evidence, const Errors& errors,
                      const DefaultProfile& profile) {
  if (evidence.exact.size() < profile.rms_elements) return true;
  if (is_half(evidence)) {
    return errors.kernel.rms <=
           std::max(profile.half_rms_factor * errors.eager.rms, errors.granted_rms);
  }
  return errors.kernel.rms <= profile.rms_factor * root_mean_square(evidence.envelope);
}

// Within what rounding explains, element by element and as a whole.
bool is_within_rounding(const OutputEvidence& evidence, const Errors& errors,
                        const DefaultProfile& profile) {
  if (errors.violations > 0) return false;
  if (evidence.envelope.empty()) return true;
  const bool needs_envelope = errors_of(evidence, {}, profile).violations > 0;
  return !needs_envelope || has_moderate_rms(evidence, errors, profile);
}

// Rounding differences, of either side, have grown to half of the significand's bits, measured on
// the largest value.
bool is_magnified(const OutputEvidence& evidence, const Errors& errors) {
  double largest = 0;
  for (const double value : evidence.exact) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return std::max(errors.kernel.max_abs, errors.eager.max_abs) >
         std::ldexp(largest, -evidence.noise_bits / 2);
}

// Without an envelope, a long cancelling sum may leave both sides far from the float64 value. The
// kernel is then held to eager's own standard. Positions are not negotiable.
bool is_as_good_as_eager(const OutputEvidence& evidence, const Errors& errors,
                         const Positions& positions, const DefaultProfile& profile) {
  if (!evidence.envelope.empty() || positions.nan.count > 0 || positions.inf.count > 0)
    return false;
  return errors.kernel.rms <= profile.eager_rms_factor * errors.eager.rms &&
         errors.kernel.max_abs <= profile.eager_max_factor * errors.eager.max_abs;
}

// compare/ counts parts, of which a complex element has two.
std::uint64_t element_of(std::uint64_t part, DType dtype) {
  return dtype_class(dtype) == DTypeClass::kComplex ? part / 2 : part;
}

// How far off: positions of NaN and Inf have no distance.
std::string extent_text(const Errors& errors, const Positions& positions) {
  std::string text;
  if (positions.nan.count > 0) {
    text += fmt::format("{} NaN positions differ from eager's; ", positions.nan.count);
  }
  if (positions.inf.count > 0) {
    text += fmt::format("{} Inf positions differ from eager's; ", positions.inf.count);
  }
  if (!text.empty() && errors.kernel.max_abs == 0 && errors.eager.max_abs == 0) {
    return text.substr(0, text.size() - 2);
  }
  return text +
         fmt::format("kernel {:.3g}, eager {:.3g} at most; {:.3g} and {:.3g} root mean square",
                     errors.kernel.max_abs, errors.eager.max_abs, errors.kernel.rms,
                     errors.eager.rms);
}

Judgement kernel_wrong(DifferenceKind kind, std::uint64_t worst, std::string message) {
  return {Verdict::kKernelWrong, kind, std::move(message), worst};
}

}  // namespace

std::optional<Judgement> screen(const OutputEvidence& evidence, const DefaultProfile& profile) {
  const Positions positions = compare_positions(evidence.eager, evidence.kernel);
  const Disagreement disagreement = gravest(positions);
  if (disagreement.count == 0) return Judgement{};
  if (is_exact(evidence.eager.dtype)) {
    return kernel_wrong(
        DifferenceKind::kValue, disagreement.first,
        fmt::format("{} of {} elements differ", disagreement.count, evidence.eager.count()));
  }
  if (disagreement.kind != DifferenceKind::kValue) return std::nullopt;
  const double limit =
      std::min(profile.screen_ulps + evidence.rounding_ops,
               is_half(evidence) ? profile.half_screen_ulps_limit : profile.screen_ulps_limit);
  if (ulp_distance(evidence.eager, evidence.kernel).max > limit) return std::nullopt;
  return Judgement{};
}

bool is_settled_without_envelope(const OutputEvidence& evidence, const DefaultProfile& profile) {
  if (evidence.exact.empty()) return false;
  const Errors errors = errors_of(evidence, {}, profile);
  return errors.violations == 0 && errors.eager_violations == 0 && errors.zero_signs == 0;
}

Judgement judge_with_opinion(const OutputEvidence& evidence, const DefaultProfile& profile) {
  const Positions positions = compare_positions(evidence.eager, evidence.kernel);
  const Disagreement disagreement = gravest(positions);
  if (evidence.exact.empty()) {
    return {Verdict::kNoOracle, disagreement.kind,
            fmt::format("{} of {} elements differ; no float64 opinion: {}", disagreement.count,
                        evidence.eager.count(), evidence.no_oracle),
            element_of(disagreement.first, evidence.eager.dtype)};
  }
  const DType dtype = evidence.eager.dtype;
  const Errors errors = errors_of(evidence, evidence.envelope, profile);
  const bool is_within = is_within_rounding(evidence, errors, profile) ||
                         is_as_good_as_eager(evidence, errors, positions, profile);
  if (!is_within && errors.violations == 0) {
    return kernel_wrong(
        disagreement.kind, element_of(errors.kernel.max_abs_index, dtype),
        fmt::format("each of {} elements is as close to float64 as rounding explains, and all of "
                    "them together are not: their root mean square error is {:.3g}, eager's {:.3g}",
                    evidence.eager.count(), errors.kernel.rms, errors.eager.rms));
  }
  if (!is_within) {
    return kernel_wrong(
        disagreement.kind, element_of(errors.worst_violation, dtype),
        fmt::format("{} of {} elements are further from float64 than rounding explains ({})",
                    errors.violations, evidence.eager.count(), extent_text(errors, positions)));
  }
  if (errors.zero_signs > 0) {
    return kernel_wrong(
        DifferenceKind::kSign, element_of(errors.first_zero_sign, dtype),
        fmt::format("{} zeros have another sign than in eager and in float64", errors.zero_signs));
  }
  if (errors.violations == 0 && errors.eager_violations > 0) {
    return {Verdict::kEagerWorse, disagreement.kind,
            fmt::format("{} of {} elements differ, and float64 sides with the kernel",
                        disagreement.count, evidence.eager.count()),
            element_of(disagreement.first, dtype)};
  }
  if (!evidence.envelope.empty() && is_magnified(evidence, errors)) {
    return {Verdict::kNoiseMagnified, disagreement.kind,
            fmt::format("{} of {} elements differ, and a unit in the last place of an earlier step "
                        "moves the result as far",
                        disagreement.count, evidence.eager.count()),
            element_of(disagreement.first, dtype)};
  }
  return {};
}

std::optional<Judgement> explain_by_decisions(const OutputEvidence& evidence, const Span& span,
                                              const DefaultProfile& profile) {
  // An output that is wrong as a whole and in no element has nothing that a decision could explain.
  const bool is_wrong_as_a_whole =
      !evidence.exact.empty() && errors_of(evidence, evidence.envelope, profile).violations == 0;
  if (is_wrong_as_a_whole) return std::nullopt;
  const std::uint64_t unexplained =
      count_unexplained(evidence.kernel, evidence.eager, evidence.exact, evidence.envelope, span,
                        tolerance_of(evidence, profile));
  if (unexplained > 0) return std::nullopt;
  const Disagreement disagreement = gravest(compare_positions(evidence.eager, evidence.kernel));
  return Judgement{Verdict::kNoiseMagnified, disagreement.kind,
                   fmt::format("{} of {} elements differ, where a unit in the last place of an "
                               "earlier step decides otherwise",
                               disagreement.count, evidence.eager.count()),
                   element_of(disagreement.first, evidence.eager.dtype)};
}

}  // namespace fuseproof
