// The errors of two sides, a kernel and eager, against a third opinion: a float64 run of the same
// computation, "exact". Who is nearer to it, and by how much?
//
// Exact values are rounded once to the outputs' dtype first, so that nobody is blamed for what the
// dtype cannot hold. The last place that errors are counted in is the one of the rounded exact
// value.
#pragma once

#include <cstdint>
#include <span>

#include "compare/packed.h"

namespace fuseproof {

struct ErrorTolerance {
  double ulps = 4;             // in last places of the rounded exact value
  double envelope_factor = 4;  // times the envelope at the same place
  double absolute = 0;         // a floor under the ulps
};

// |side − exact|, over the parts that are finite in kernel, eager and exact.
struct SideErrors {
  double max_abs = 0;
  double max_ulp = 0;
  double rms = 0;  // infinite where squares overflow float64
  std::uint64_t max_abs_index = 0;
  std::uint64_t max_ulp_index = 0;
};

// A part is a violation where |side − exact| > max(ulps·last_place, absolute) +
// envelope_factor·envelope, or where a side's NaN or Inf (with its sign) is not exact's. Indices
// are in parts and valid if violations > 0.
struct Errors {
  SideErrors kernel;
  SideErrors eager;
  std::uint64_t violations = 0;  // of the kernel
  std::uint64_t first_violation = 0;
  std::uint64_t worst_violation = 0;  // largest excess over its bound; NaN and Inf exceed any
  std::uint64_t eager_violations = 0;
  // max(ulps·last_place, absolute), root mean square over the parts that the sides' errors are of.
  double granted_rms = 0;
  // Zeros of the kernel with another sign than eager's and exact's.
  std::uint64_t zero_signs = 0;
  std::uint64_t first_zero_sign = 0;
};

// Any dtype, meant for floats. `exact` has one number for each part; `envelope` too, or none at all
// (no spread). An envelope of Inf or NaN lets every finite value through. Throws kUsage if dtypes
// or counts differ.
Errors compare_errors(const Packed& kernel, const Packed& eager, std::span<const double> exact,
                      std::span<const double> envelope, const ErrorTolerance& tolerance);

// Where a value may lie if a decision on the way to it falls otherwise; one number for each part.
struct Span {
  std::span<const double> low;
  std::span<const double> high;
};

// Kernel violations (as above; with an empty `exact`: parts that are not equal to eager's) that the
// span does not explain either: they lie outside it by more than max(ulps·last_place, absolute). An
// integer beyond 2^53 that rounds to the same float64 as eager's is explained by nothing.
std::uint64_t count_unexplained(const Packed& kernel, const Packed& eager,
                                std::span<const double> exact, std::span<const double> envelope,
                                const Span& span, const ErrorTolerance& tolerance);

}  // namespace fuseproof
