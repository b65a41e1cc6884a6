#include "compare/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "compare/pair_kernels.h"
#include "compare/pair_reader.h"
#include "compare/parallel.h"

namespace fuseproof {
namespace {

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

// What one thread takes at a time. Its sums are kept apart until all are there and are then added
// in order: that makes the answer independent of the threads, and the rounding error small.
constexpr std::size_t kChunkBlocks = 64;
constexpr std::size_t kChunk = kChunkBlocks * kPairBlock;

// Brings the largest double to 2^464: 2^95 squares of it can be added.
constexpr double kDownscale = 0x1p-560;

struct Operands {
  Packed expected;
  Packed actual;
  double scale = 1.0;  // multiplies every value that a PairReader hands out
  int threads = 1;

  std::size_t count() const { return part_count(expected); }
  std::size_t chunk_count() const { return (count() + kChunk - 1) / kChunk; }
};

// visit(begin, size) for each block of a chunk.
template <class Visit>
void for_each_block(std::size_t count, std::size_t chunk, const Visit& visit) {
  const std::size_t end = std::min(count, (chunk + 1) * kChunk);
  for (std::size_t begin = chunk * kChunk; begin < end; begin += kPairBlock) {
    visit(begin, std::min(kPairBlock, end - begin));
  }
}

struct FirstPass {
  PairSums sums;
  NonfiniteCounts nonfinite;
  std::size_t max_abs_block = 0;  // begin of the first block that holds sums.max_abs

  void add(const FirstPass& later) {
    if (later.sums.max_abs > sums.max_abs) max_abs_block = later.max_abs_block;
    sums.add(later.sums);
    nonfinite.aligned += later.nonfinite.aligned;
    nonfinite.mismatched += later.nonfinite.mismatched;
  }

  std::uint64_t nonfinite_count() const { return nonfinite.aligned + nonfinite.mismatched; }
};

template <typename T>
FirstPass sum_one_block(PairReader<T>& reader, std::size_t begin, std::size_t size) {
  FirstPass result;
  result.max_abs_block = begin;
  const PairBlock<T> block = reader.read(begin, size);
  result.sums = pair_sums(block.x, block.y, size);
  // A value that is not finite shows in its square; only then are the values looked at one by one.
  if (std::isfinite(result.sums.xx + result.sums.yy)) return result;
  const PairBlock<T> kept = reader.keep_finite(block, result.nonfinite);
  result.sums = pair_sums(kept.x, kept.y, kept.size);
  return result;
}

template <typename T>
std::vector<FirstPass> first_pass(const Operands& operands) {
  std::vector<FirstPass> chunks(operands.chunk_count());
  parallel_for(chunks.size(), operands.threads, [&](std::size_t chunk) {
    PairReader<T> reader(operands.expected, operands.actual, operands.scale);
    FirstPass result;
    for_each_block(operands.count(), chunk, [&](std::size_t begin, std::size_t size) {
      result.add(sum_one_block(reader, begin, size));
    });
    chunks[chunk] = result;
  });
  return chunks;
}

template <typename T>
DivergenceSums second_pass(const Operands& operands, const std::vector<FirstPass>& first,
                           const Normalisation& normalisation) {
  std::vector<DivergenceSums> chunks(operands.chunk_count());
  parallel_for(chunks.size(), operands.threads, [&](std::size_t chunk) {
    PairReader<T> reader(operands.expected, operands.actual, operands.scale);
    const bool all_finite = first[chunk].nonfinite_count() == 0;
    DivergenceSums result;
    for_each_block(operands.count(), chunk, [&](std::size_t begin, std::size_t size) {
      PairBlock<T> block = reader.read(begin, size);
      NonfiniteCounts counted_before;
      if (!all_finite) block = reader.keep_finite(block, counted_before);
      result.add(divergence_sums(block.x, block.y, block.size, normalisation));
    });
    chunks[chunk] = result;
  });
  DivergenceSums total;
  for (const DivergenceSums& chunk : chunks) total.add(chunk);
  return total;
}

template <typename T>
std::uint64_t index_of_max_abs(const Operands& operands, const FirstPass& total) {
  if (total.sums.max_abs == 0) return 0;
  PairReader<T> reader(operands.expected, operands.actual, operands.scale);
  const std::size_t begin = total.max_abs_block;
  const PairBlock<T> block = reader.read(begin, std::min(kPairBlock, operands.count() - begin));
  std::size_t i = 0;
  while (i + 1 < block.size && std::fabs(static_cast<double>(block.x[i]) -
                                         static_cast<double>(block.y[i])) != total.sums.max_abs) {
    ++i;
  }
  return begin + i;
}

double cosine_of(const PairSums& sums, double scale) {
  const double x_norm = std::sqrt(sums.xx);
  const double y_norm = std::sqrt(sums.yy);
  const bool x_is_null = x_norm / scale < kEpsilon;
  const bool y_is_null = y_norm / scale < kEpsilon;
  if (x_is_null && y_is_null) return 1.0;
  if (x_is_null || y_is_null) return 0.0;
  return sums.xy / (x_norm * y_norm);
}

double rel_euclid_of(const PairSums& sums, double scale) {
  if (sums.yy / scale / scale >= kEpsilon) return std::sqrt(sums.dd / sums.yy);
  return sums.dd / scale / scale < kEpsilon ? 0.0 : std::numeric_limits<double>::infinity();
}

// 1/range, or 0 where the range is too small to divide by.
double range_factor(double minimum, double maximum, double scale) {
  const double range = maximum - minimum;
  return range / scale < kEpsilon ? 0.0 : 1.0 / range;
}

// w − log(1 + w), which is about w²/2, without cancellation.
double log1p_shortfall(double w) {
  if (std::fabs(w) > 0.01) return w - std::log1p(w);
  double series = 0;  // Σ (−w)^n/n, n from 2
  for (int n = 9; n >= 2; --n) series = 1.0 / n - w * series;
  return w * w * series;
}

// With P = Σp, Q = Σq and w = Q/P − 1:
//   Σ (p/P)·log((p/P)/(q/Q)) = Σ p·log(p/q)/P + log(1 + w) = D/P − (w − log(1 + w)),
// where D = Σ p·log(p/q) − p + q. For sums that are alike the second form does not cancel; for sums
// far apart it does, and the first does not.
double normalised_divergence(const DivergenceSums& sums) {
  const double w = -sums.difference / sums.p;
  const double divergence = std::fabs(w) < 0.5 ? sums.divergence / sums.p - log1p_shortfall(w)
                                               : sums.literal / sums.p + std::log1p(w);
  return std::max(0.0, divergence);
}

template <typename T>
Metrics measure_as(Operands operands) {
  std::vector<FirstPass> chunks = first_pass<T>(operands);
  FirstPass total;
  for (const FirstPass& chunk : chunks) total.add(chunk);

  const PairSums& sums = total.sums;
  if (!std::isfinite(sums.xx + sums.yy + sums.dd) && operands.scale == 1.0) {
    operands.scale = kDownscale;
    return measure_as<T>(operands);
  }

  const double scale = operands.scale;
  Metrics metrics;
  metrics.count = operands.count();
  metrics.aligned_nonfinite = total.nonfinite.aligned;
  metrics.mismatched_nonfinite = total.nonfinite.mismatched;
  metrics.compared = metrics.count - total.nonfinite_count();
  if (metrics.compared == 0) return metrics;

  const double compared = static_cast<double>(metrics.compared);
  metrics.cosine = cosine_of(sums, scale);
  metrics.rel_euclid = rel_euclid_of(sums, scale);
  metrics.mae = sums.ad / compared / scale;
  metrics.rmse = std::sqrt(sums.dd / compared) / scale;
  metrics.max_abs = sums.max_abs / scale;
  metrics.max_abs_index = index_of_max_abs<T>(operands, total);

  const DivergenceSums divergence =
      second_pass<T>(operands, chunks,
                     {.x_min = sums.x_min,
                      .x_factor = range_factor(sums.x_min, sums.x_max, scale),
                      .y_min = sums.y_min,
                      .y_factor = range_factor(sums.y_min, sums.y_max, scale),
                      .floor = kEpsilon});
  metrics.kl = normalised_divergence(divergence);
  metrics.kl_literal = divergence.literal;
  return metrics;
}

bool fits_float32(DType part) {
  return part == DType::kFloat16 || part == DType::kBFloat16 || part == DType::kFloat32;
}

}  // namespace

Metrics measure(const Packed& expected, const Packed& actual, const MeasureOptions& options) {
  require_comparable(expected, actual);
  const Operands operands{.expected = expected, .actual = actual, .threads = options.threads};
  if (fits_float32(dtype_part(expected.dtype))) return measure_as<float>(operands);
  return measure_as<double>(operands);
}

}  // namespace fuseproof
