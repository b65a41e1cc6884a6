// What an operator does to rounding errors, by its name. The judgement of a difference hangs on it:
// an operator that rounds adds an error, one that moves values adds none, one that decides turns an
// error of a last place into another value altogether.
#pragma once

#include <string>

namespace fuseproof {

// All take a node's target: "aten.add.Tensor".

// Results are some of the arguments' values (or constants), unrounded: clone, cat, relu, max,
// where, views.
bool moves_values(const std::string& target);

// Float results that jump where an argument crosses a border: floor, round, sign, remainder.
// (Comparisons and argmax decide too; their results are no floats.)
bool decides(const std::string& target);

// The result depends on the order of the elements along the reduced dimensions by rounding alone.
bool reduces(const std::string& target);

// Adds rounding errors of its own to float results.
inline bool rounds(const std::string& target) { return !moves_values(target) && !decides(target); }

}  // namespace fuseproof
