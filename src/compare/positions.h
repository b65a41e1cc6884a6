// Where two tensors differ, element by element, as facts that hold or do not: which side is NaN or
// Inf, signs of zeros, unequal numbers. Each pair of parts falls into one kind at most. NaNs are
// all alike, whatever their sign or payload; so are all true bools.
#pragma once

#include <cstdint>

#include "compare/packed.h"

namespace fuseproof {

struct PositionCount {
  std::uint64_t count = 0;
  std::uint64_t first = 0;  // index of the first such part, valid if count > 0
};

struct Positions {
  PositionCount nan;        // NaN on one side only
  PositionCount inf;        // Inf on one side only, or of the other sign; no NaN in the pair
  PositionCount zero_sign;  // 0.0 on one side, −0.0 on the other
  PositionCount value;      // finite on both sides and unequal
};

// Any dtype. Throws kUsage if dtype or count differ. Blocks that agree byte for byte cost a memcmp.
Positions compare_positions(const Packed& expected, const Packed& actual);

}  // namespace fuseproof
