// Two packed tensors read block by block as float or double: in place where the bytes already are
// that, through two small buffers otherwise. One reader serves one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "compare/packed.h"

namespace fuseproof {

constexpr std::size_t kPairBlock =
    2048;  // parts; two float32 blocks take half of a 32 KiB L1 cache

template <typename T>
struct PairBlock {
  const T* x;
  const T* y;
  std::size_t size;
};

struct NonfiniteCounts {
  std::uint64_t aligned = 0;
  std::uint64_t mismatched = 0;
};

// T = float takes float16, bfloat16, float32 and complex numbers of those; T = double takes all.
template <typename T>
class PairReader {
 public:
  // `scale` multiplies each value; a power of two.
  PairReader(const Packed& expected, const Packed& actual, double scale)
      : expected_(expected), actual_(actual), scale_(scale) {}

  // At most kPairBlock parts. The block is valid until the next call.
  PairBlock<T> read(std::size_t begin, std::size_t size) {
    return {side(expected_, begin, size, x_.data()), side(actual_, begin, size, y_.data()), size};
  }

  // The pairs of a block that are finite on both sides; the others are counted.
  PairBlock<T> keep_finite(const PairBlock<T>& block, NonfiniteCounts& counts) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < block.size; ++i) {
      const T x = block.x[i];
      const T y = block.y[i];
      x_[kept] = x;
      y_[kept] = y;
      const bool finite = std::isfinite(x) && std::isfinite(y);
      const bool same = x == y || (std::isnan(x) && std::isnan(y));
      kept += finite ? 1 : 0;
      counts.aligned += !finite && same ? 1 : 0;
      counts.mismatched += !finite && !same ? 1 : 0;
    }
    return {x_.data(), y_.data(), kept};
  }

 private:
  const T* side(const Packed& tensor, std::size_t begin, std::size_t size, T* buffer) const;

  Packed expected_;
  Packed actual_;
  double scale_;
  alignas(64) std::array<T, kPairBlock> x_;
  alignas(64) std::array<T, kPairBlock> y_;
};

}  // namespace fuseproof
