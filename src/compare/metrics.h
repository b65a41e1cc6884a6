// How far one tensor is from another as a whole: the numbers of the profile `cann`, and the largest
// difference. With x expected, y actual, over the parts that are finite on both sides, in float64:
//
//   cosine      Σ (x/‖x‖)·(y/‖y‖); 1 when both norms are under eps, 0 when one is
//   rel_euclid  √(Σ(x−y)² / Σy²); with Σy² under eps: 0 when Σ(x−y)² is too, else infinite
//   kl          Σ p·log(p/q), where p and q are x and y min-max normalised, clamped at eps, and
//   then
//               made to sum to one. Never negative. This is the form to judge by
//   kl_literal  the same without "made to sum to one": any sign, grows with the number of elements
//   mae, rmse   mean |x−y|, √mean (x−y)²
//
// eps is that of float32, 2^-23. A range (maximum − minimum) under eps normalises to zeros, hence
// to eps everywhere. Without any part to compare: cosine 1, the others 0.
//
// Two passes over the data in its own dtype; nothing of the tensors' size is allocated. The first
// pass sums, finds the ranges and sets non-finite parts aside; the second needs the ranges. Sums
// run in blocks and the blocks are added in order, so that the answer is the same to the last bit
// for any number of threads (SIMD targets differ in the last few bits).
#pragma once

#include <cstdint>

#include "compare/packed.h"

namespace fuseproof {

struct MeasureOptions {
  int threads = 1;
};

// Counts and indices are in parts: elements, or real and imaginary parts of complex ones.
struct Metrics {
  std::uint64_t count = 0;                 // = compared + aligned_nonfinite + mismatched_nonfinite
  std::uint64_t compared = 0;              // finite on both sides
  std::uint64_t aligned_nonfinite = 0;     // NaN on both sides, or the same Inf
  std::uint64_t mismatched_nonfinite = 0;  // any other pair that is not finite on both sides
  double cosine = 1.0;
  double rel_euclid = 0.0;
  double kl = 0.0;
  double kl_literal = 0.0;
  double mae = 0.0;
  double rmse = 0.0;
  double max_abs = 0.0;             // largest |x−y|
  std::uint64_t max_abs_index = 0;  // where it stands first; 0 when max_abs is 0
};

// Any dtype; integers and bools are taken as numbers (64-bit ones beyond 2^53 are rounded). float64
// values whose squares overflow are scaled down for the sums. Throws kUsage if dtype or count
// differ.
Metrics measure(const Packed& expected, const Packed& actual, const MeasureOptions& options = {});

}  // namespace fuseproof
