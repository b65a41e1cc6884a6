// The inner loops of measure(), over one block of two tensors, for the best SIMD target of this CPU
// (chosen at run time by Highway). Each reads exactly `size` values of each side.
#pragma once

#include <cstddef>
#include <limits>

namespace fuseproof {

// Sums over pairs (x, y); infinite or NaN as soon as one value is.
struct PairSums {
  double xx = 0, yy = 0, xy = 0;  // products
  double dd = 0, ad = 0;          // (x−y)², |x−y|
  double x_min = std::numeric_limits<double>::infinity();
  double x_max = -std::numeric_limits<double>::infinity();
  double y_min = std::numeric_limits<double>::infinity();
  double y_max = -std::numeric_limits<double>::infinity();
  double max_abs = 0;  // of x−y

  void add(const PairSums& other);
};

PairSums pair_sums(const float* x, const float* y, std::size_t size);
PairSums pair_sums(const double* x, const double* y, std::size_t size);

// p = max((x − x_min)·x_factor, floor), and q likewise from y.
struct Normalisation {
  double x_min, x_factor;
  double y_min, y_factor;
  double floor;
};

// `literal` is `divergence` + `difference`, but is summed by itself. No term of `divergence` is
// negative, so that nothing cancels in it, however near p and q are.
struct DivergenceSums {
  double p = 0;
  double difference = 0;  // Σ p − q
  double literal = 0;     // Σ p·log(p/q)
  double divergence = 0;  // Σ p·log(p/q) − p + q

  void add(const DivergenceSums& other);
};

// All x and y finite, p and q in [floor, 1].
DivergenceSums divergence_sums(const float* x, const float* y, std::size_t size,
                               const Normalisation& normalisation);
DivergenceSums divergence_sums(const double* x, const double* y, std::size_t size,
                               const Normalisation& normalisation);

// Exact conversions, subnormals, Inf and NaN included. The source needs no alignment.
void widen_float16(const std::byte* source, float* target, std::size_t size);
void widen_bfloat16(const std::byte* source, float* target, std::size_t size);

}  // namespace fuseproof
