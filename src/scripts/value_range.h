// Which values a recorded tensor held, where a script's random values have to keep to that.
#pragma once

#include <optional>
#include <span>

#include "scripts/benchmark_spec.h"

namespace fuseproof {

// Whether there can be one: for integers and floats, and with elements.
bool has_value_range(const Layout& layout);

// Of integers, and of floats none of which is negative: probabilities, variances, counts. Where all
// are zero, as optimizers' states are at first, it is 0 to 1.
std::optional<ValueRange> value_range(std::span<const std::byte> storage, const Layout& layout);

}  // namespace fuseproof
