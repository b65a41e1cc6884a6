// A tensor's elements as the comparisons see them: row-major, without gaps, in the dtype's own
// bytes. Complex elements are (re, im) pairs; the comparisons walk over *parts*, of which a complex
// element has two and any other has one. Packed owns nothing and needs no alignment.
#pragma once

#include <cstddef>
#include <span>

#include "base/dtype.h"

namespace fuseproof {

struct Packed {
  DType dtype = DType::kFloat32;
  std::span<const std::byte> bytes;

  std::size_t count() const;  // elements; a complex number is one
};

// Number of parts: count(), twice that for complex dtypes.
std::size_t part_count(const Packed& tensor);

// Throws kUsage unless both have one dtype and one number of elements, and whole elements only.
// Shapes are the caller's business: these functions do not see them.
void require_comparable(const Packed& a, const Packed& b);

}  // namespace fuseproof
