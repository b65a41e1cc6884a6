// Values of symbolic sizes: integer expressions over symbols, as sympy prints them in torch's
// graphs
// ("s0 + 1", "2*s0*s1", "(s0 // 2)", "s0**2", "FloorDiv(s0, 2)", "Mod(s0, 4)", "Max(1, s0)").
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace fuseproof {

// Throws kBadInput for a symbol without a value, kUnsupported for what it cannot read.
std::int64_t evaluate(const std::string& expression,
                      const std::map<std::string, std::int64_t>& symbols);

}  // namespace fuseproof
