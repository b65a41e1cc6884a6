// Both sides of an output from lists of numbers.
#pragma once

#include <cstring>
#include <vector>

#include "verdict/evidence.h"

namespace fuseproof {

template <typename Number>
std::vector<std::byte> bytes_of(const std::vector<Number>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(Number));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

struct Sides {
  DType dtype;
  std::vector<std::byte> kernel, eager;
  std::vector<double> exact;

  static Sides floats(const std::vector<float>& kernel, const std::vector<float>& eager,
                      std::vector<double> exact = {}) {
    return {DType::kFloat32, bytes_of(kernel), bytes_of(eager), std::move(exact)};
  }
  static Sides integers(const std::vector<std::int64_t>& kernel,
                        const std::vector<std::int64_t>& eager) {
    return {DType::kInt64, bytes_of(kernel), bytes_of(eager), {}};
  }

  OutputEvidence evidence() const {
    return {.kernel = {dtype, kernel},
            .eager = {dtype, eager},
            .exact = exact,
            .no_oracle = "",
            .envelope = {},
            .rounding_ops = 1,
            .noise_bits = 24};
  }
};

}  // namespace fuseproof
