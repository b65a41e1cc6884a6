// Single numbers in and out of any dtype, for reports. The comparisons themselves do not go this
// way.
#pragma once

#include <cstddef>

#include "base/dtype.h"
#include "compare/packed.h"

namespace fuseproof {

// The part at this index (an element, or the real or imaginary part of a complex one) as a double.
// Exact, except for 64-bit integers beyond 2^53. Throws kUsage for an index past the end.
double value_at(const Packed& tensor, std::size_t part);

// The number of the dtype (of a complex one's parts) that is nearest to `number`, ties to even, as
// a double: rounded once, subnormals kept. A number too large, or Inf, becomes Inf; in
// float8_e4m3fn the largest finite number and in the fnuz variants NaN, as in torch. Integers are
// kept within their range; NaN becomes 0 there.
double round_to(DType dtype, double number);

}  // namespace fuseproof
