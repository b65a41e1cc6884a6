// A run that shows how far rounding alone can move a program's results.
//
// The program runs twice in lockstep, natively and disturbed. In the disturbed run every float
// result that an operator rounds is moved by about one unit in its last place, up or down at random
// for each element, before the next operator sees it, and reductions take their elements in another
// order. The outputs themselves are as their operator leaves them: given equal inputs, a single
// operator must be right. Integer and bool results are the native ones, so that comparisons, argmax
// and rounding to integers decide as eager did.
//
// Operators that only move or select values round nothing and add nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/interpreter.h"

namespace fuseproof {

// Both environments hold the inputs, in storages of their own: in-place operators of one run must
// not reach the other. Afterwards `disturbed` holds the outputs. Equal seeds give equal
// disturbances. Throws StepFailure when a step fails, of either run.
void run_perturbed(const Program& program, Environment& native, Environment& disturbed,
                   std::uint64_t seed, Progress* progress);

}  // namespace fuseproof
