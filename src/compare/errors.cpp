#include "compare/errors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"
#include "compare/formats.h"

namespace fuseproof {
namespace {

// Squares are added in short runs and the runs' sums added up: less rounding than one long sum.
constexpr std::size_t kRun = 1024;

void require_counts(const Packed& kernel, std::size_t exact, std::size_t envelope) {
  const std::size_t parts = part_count(kernel);
  if (exact != parts) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} exact values for {} parts: pass one for each part", exact, parts));
  }
  if (envelope != 0 && envelope != parts) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("an envelope of {} values for {} parts: pass one for each part, or none",
                    envelope, parts));
  }
}

// Adds up one side's errors.
class SideTally {
 public:
  void add(std::uint64_t index, double error, double last_place) {
    if (error > 0) raise(index, error, error / last_place);
    if (++count_ % kRun == 0) end_run();
  }

  SideErrors finish() {
    end_run();
    if (count_ > 0) errors_.rms = std::sqrt(squares_ / static_cast<double>(count_));
    return errors_;
  }

 private:
  void raise(std::uint64_t index, double error, double ulps) {
    run_squares_ += error * error;
    if (error > errors_.max_abs) {
      errors_.max_abs = error;
      errors_.max_abs_index = index;
    }
    if (ulps > errors_.max_ulp) {
      errors_.max_ulp = ulps;
      errors_.max_ulp_index = index;
    }
  }

  void end_run() {
    squares_ += run_squares_;
    run_squares_ = 0;
  }

  SideErrors errors_;
  double squares_ = 0;
  double run_squares_ = 0;
  std::uint64_t count_ = 0;
};

double granted_at(double last_place, const ErrorTolerance& tolerance) {
  return std::max(tolerance.ulps * last_place, tolerance.absolute);
}

double bound_at(double last_place, double envelope, const ErrorTolerance& tolerance) {
  const double spread = std::isnan(envelope) ? std::numeric_limits<double>::infinity() : envelope;
  const double widened = spread == 0 ? 0 : tolerance.envelope_factor * spread;
  return granted_at(last_place, tolerance) + widened;
}

// By how much a value exceeds its bound; not positive when it does not.
template <class Format, typename Bits = typename Format::Bits>
double excess(Bits side, Bits exact, double bound) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (Format::is_finite(side) && Format::is_finite(exact)) {
    if (bound == kInfinity) return 0;
    return std::fabs(Format::value(side) - Format::value(exact)) - bound;
  }
  const bool same = side == exact || (Format::is_nan(side) && Format::is_nan(exact));
  return same ? 0 : kInfinity;
}

template <class Format, typename Bits = typename Format::Bits>
bool is_zero(Bits bits) {
  return Format::is_finite(bits) && Format::value(bits) == 0;
}

// −0.0 and 0.0 are the only two zeros, and differ in their bits alone.
template <class Format, typename Bits = typename Format::Bits>
bool has_wrong_zero(Bits kernel, Bits eager, Bits exact) {
  return eager == exact && kernel != exact && is_zero<Format>(kernel) && is_zero<Format>(exact);
}

template <class Format>
Errors compare_as(const std::byte* kernel, const std::byte* eager, std::span<const double> exact,
                  std::span<const double> envelope, const ErrorTolerance& tolerance) {
  Errors errors;
  SideTally kernel_tally, eager_tally, granted_tally;
  double worst = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const auto kernel_bits = formats::load<Format>(kernel, i);
    const auto eager_bits = formats::load<Format>(eager, i);
    const auto exact_bits = Format::round(exact[i]);
    const bool exact_is_finite = Format::is_finite(exact_bits);
    const double last_place = exact_is_finite ? Format::last_place(exact_bits) : 0;

    if (exact_is_finite && Format::is_finite(kernel_bits) && Format::is_finite(eager_bits)) {
      const double value = Format::value(exact_bits);
      kernel_tally.add(i, std::fabs(Format::value(kernel_bits) - value), last_place);
      eager_tally.add(i, std::fabs(Format::value(eager_bits) - value), last_place);
      granted_tally.add(i, granted_at(last_place, tolerance), last_place);
    }

    if (has_wrong_zero<Format>(kernel_bits, eager_bits, exact_bits) && errors.zero_signs++ == 0) {
      errors.first_zero_sign = i;
    }

    const double bound = bound_at(last_place, envelope.empty() ? 0 : envelope[i], tolerance);
    if (excess<Format>(eager_bits, exact_bits, bound) > 0) ++errors.eager_violations;
    const double kernel_excess = excess<Format>(kernel_bits, exact_bits, bound);
    if (!(kernel_excess > 0)) continue;
    if (errors.violations++ == 0) errors.first_violation = i;
    if (kernel_excess > worst) {
      worst = kernel_excess;
      errors.worst_violation = i;
    }
  }
  errors.kernel = kernel_tally.finish();
  errors.eager = eager_tally.finish();
  errors.granted_rms = granted_tally.finish().rms;
  return errors;
}

// False for NaN on either side.
bool is_inside(double value, const Span& span, std::size_t index, double slack) {
  return value >= span.low[index] - slack && value <= span.high[index] + slack;
}

template <class Format>
std::uint64_t count_unequal(const std::byte* kernel, const std::byte* eager, const Span& span) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < span.low.size(); ++i) {
    const auto bits = formats::load<Format>(kernel, i);
    const auto right = formats::load<Format>(eager, i);
    if (bits == right) continue;
    const double value = Format::value(bits);
    const bool can_tell = value != Format::value(right);
    if (!can_tell || !is_inside(value, span, i, 0)) ++count;
  }
  return count;
}

template <class Format>
std::uint64_t count_outside(const std::byte* kernel, std::span<const double> exact,
                            std::span<const double> envelope, const Span& span,
                            const ErrorTolerance& tolerance) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < span.low.size(); ++i) {
    const auto bits = formats::load<Format>(kernel, i);
    const auto right = Format::round(exact[i]);
    const double place = Format::is_finite(right) ? Format::last_place(right) : 0;
    const double bound = bound_at(place, envelope.empty() ? 0 : envelope[i], tolerance);
    if (!(excess<Format>(bits, right, bound) > 0)) continue;
    if (!is_inside(Format::value(bits), span, i, bound_at(place, 0, tolerance))) ++count;
  }
  return count;
}

}  // namespace

Errors compare_errors(const Packed& kernel, const Packed& eager, std::span<const double> exact,
                      std::span<const double> envelope, const ErrorTolerance& tolerance) {
  require_comparable(kernel, eager);
  require_counts(kernel, exact.size(), envelope.size());
  return formats::visit(kernel.dtype, [&]<class Format>(Format) {
    return compare_as<Format>(kernel.bytes.data(), eager.bytes.data(), exact, envelope, tolerance);
  });
}

std::uint64_t count_unexplained(const Packed& kernel, const Packed& eager,
                                std::span<const double> exact, std::span<const double> envelope,
                                const Span& span, const ErrorTolerance& tolerance) {
  require_comparable(kernel, eager);
  if (!exact.empty()) require_counts(kernel, exact.size(), envelope.size());
  require_counts(kernel, span.low.size(), span.high.size());
  return formats::visit(kernel.dtype, [&]<class Format>(Format) {
    const std::byte* const values = kernel.bytes.data();
    if (exact.empty()) return count_unequal<Format>(values, eager.bytes.data(), span);
    return count_outside<Format>(values, exact, envelope, span, tolerance);
  });
}

}  // namespace fuseproof
