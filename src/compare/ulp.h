// The largest distance between two tensors, counted in units of the last place.
#pragma once

#include <cstdint>

#include "compare/packed.h"

namespace fuseproof {

struct UlpDistance {
  double max = 0;
  std::uint64_t index = 0;  // of the first part where the distance is max; 0 when max is 0
};

// Over the parts that are finite on both sides: |a − b| in units of the dtype's last place at the
// larger of the two magnitudes (for subnormals and zeros: of the smallest subnormal). Two
// neighbours are thus 1 apart, or 1/2 where the larger one is the power of two between them seen
// from below. Integers and bools have a last place of one. Throws kUsage if dtype or count differ.
UlpDistance ulp_distance(const Packed& a, const Packed& b);

}  // namespace fuseproof
