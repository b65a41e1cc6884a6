// Whether this CPU can run what a recipe's instruction-set flags allow the compiler to use.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fuseproof {

// The first flag (without the dash: "mavx512f") whose instruction set this CPU lacks.
std::optional<std::string> missing_cpu_feature(const std::vector<std::string>& flags);

}  // namespace fuseproof
