// Pairs of tensors for the tests: packed from values, or generated as make_expected.py does.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "compare/packed.h"

namespace fuseproof::test {

using Bytes = std::vector<std::byte>;

template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Two tensors on the heap, of exactly their size, so that AddressSanitizer sees an overread.
struct Pair {
  DType dtype;
  Bytes x;
  Bytes y;

  Packed expected() const { return {dtype, x}; }
  Packed actual() const { return {dtype, y}; }
};

template <typename T>
Pair pair_of(DType dtype, const std::vector<T>& x, const std::vector<T>& y) {
  return {dtype, bytes_of(x), bytes_of(y)};
}

inline Pair floats(const std::vector<float>& x, const std::vector<float>& y) {
  return pair_of(DType::kFloat32, x, y);
}

inline Pair doubles(const std::vector<double>& x, const std::vector<double>& y) {
  return pair_of(DType::kFloat64, x, y);
}

// Knuth's MMIX generator; the upper 32 bits of each state.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 32;
  }

 private:
  std::uint64_t state_;
};

enum class Sign { kNone, kTop, kNegate };

// See Recipe in make_expected.py.
struct Recipe {
  DType dtype;
  std::uint64_t low, span;
  int shift;
  std::uint64_t jitter;
  Sign sign;
  std::uint64_t nan, inf;
};

struct ExpectedMetrics {
  DType dtype;
  std::size_t count;  // of elements
  int specials;
  std::uint64_t aligned, mismatched;
  double cosine, rel_euclid, kl, kl_literal, mae, rmse, max_abs;
  std::uint64_t max_abs_index;
  double ulp;
  std::uint64_t ulp_index;
};

struct ExpectedConversions {
  DType dtype;
  std::uint64_t all_values;
  std::uint64_t rounded;
};

// The pair that make_bits() of make_expected.py makes.
Pair make_pair(DType dtype, std::size_t count, int specials);

// FNV-1a of float64 patterns, word by word, all NaNs alike.
std::uint64_t digest(std::span<const double> values);

// Packed bytes of the low `size_bytes` of a pattern (little endian).
void store_bits(std::byte* target, std::uint64_t bits, std::size_t size_bytes);

}  // namespace fuseproof::test
