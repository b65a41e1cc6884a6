// Which values a recorded tensor held, where a script's random values have to keep to that.
#pragma once

#include <optional>
#include <span>

#include "scripts/benchmark_spec.h"

namespace fuseproof {

// Of integers, and of floats none of which is negative and not all are equal; nothing for bools,
// other floats, complex numbers and tensors without elements. Floats beyond a million elements are
// not looked at: such tensors are activations and weights, not variances or probabilities.
std::optional<ValueRange> value_range(std::span<const std::byte> storage, const Layout& layout);

}  // namespace fuseproof
