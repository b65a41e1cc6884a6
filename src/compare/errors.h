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
  // Zeros of the kernel with another sign than eager's and exact's.
  std::uint64_t zero_signs = 0;
  std::uint64_t first_zero_sign = 0;
};

// Any dtype, meant for floats. `exact` has one number for each part; `envelope` too, or none at all
// (no spread). An envelope of Inf or NaN lets every finite value through. Throws kUsage if dtypes
// or counts differ.
Errors compare_errors(const Packed& kernel, const Packed& eager, std::span<const double> exact,
                      std::span<const double> envelope, const ErrorTolerance& tolerance);

// Widens an envelope round `exact` so that it reaches one more sample of the same values:
// half_width[i] becomes at least |sample[i] − exact[i]|; infinite where the sample is not finite
// and exact is. All counts in parts, as above.
void widen_envelope(const Packed& sample, std::span<const double> exact,
                    std::span<double> half_width);

}  // namespace fuseproof
