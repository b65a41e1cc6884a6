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

ErrorTolerance tolerance_of(const OutputEvidence& evidence, const DefaultProfile& profile,
                            double factor) {
  const double ulps = profile.opinion_ulps + profile.opinion_ulps_per_op * evidence.rounding_ops;
  return {.ulps = factor * ulps, .envelope_factor = factor * profile.envelope_factor};
}

Errors errors_of(const OutputEvidence& evidence, const ErrorTolerance& tolerance) {
  return compare_errors(evidence.kernel, evidence.eager, evidence.exact, evidence.envelope,
                        tolerance);
}

// A few elements just beyond the bound are the envelope's chance, not the kernel's fault.
bool are_outliers(const OutputEvidence& evidence, const Errors& errors,
                  const DefaultProfile& profile) {
  if (evidence.envelope.empty()) return false;
  const auto count = static_cast<double>(evidence.exact.size());
  if (static_cast<double>(errors.violations) > profile.outlier_share * count) return false;
  return errors_of(evidence, tolerance_of(evidence, profile, profile.outlier_factor)).violations ==
         0;
}

// Rounding differences, of either side, have grown to half of the significand's bits, measured on
// the largest value.
bool is_magnified(const OutputEvidence& evidence, const Errors& errors) {
  double largest = 0;
  for (const double value : evidence.exact) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  const int bits = dtype_significand_bits(evidence.eager.dtype);
  return std::max(errors.kernel.max_abs, errors.eager.max_abs) > std::ldexp(largest, -bits / 2);
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
      std::min(profile.screen_ulps + evidence.rounding_ops, profile.screen_ulps_limit);
  if (ulp_distance(evidence.eager, evidence.kernel).max > limit) return std::nullopt;
  return Judgement{};
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
  const Errors errors = errors_of(evidence, tolerance_of(evidence, profile, 1));
  const bool is_within = errors.violations == 0 || are_outliers(evidence, errors, profile) ||
                         is_as_good_as_eager(evidence, errors, positions, profile);
  if (!is_within) {
    return kernel_wrong(
        disagreement.kind, element_of(errors.worst_violation, dtype),
        fmt::format("{} of {} elements are further from float64 than rounding explains "
                    "(kernel {:.3g}, eager {:.3g} at most)",
                    errors.violations, evidence.eager.count(), errors.kernel.max_abs,
                    errors.eager.max_abs));
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

}  // namespace fuseproof
