// The float64 opinion on a program: what its floating-point values would be without the rounding of
// their dtypes.
//
// The program runs twice in lockstep, natively and widened. A widened step gets float64
// (complex128) in place of every float (complex) tensor and dtype; integer and bool results are the
// native ones, and so are the results of floor, round and the like, so that every decision falls as
// in eager; values drawn at random are the native ones, widened. Bit-casts and operators without a
// float64 form end the opinion.
//
// Widened values have the strides of the native ones, which keeps views and as_strided true.
#pragma once

#include <string>
#include <unordered_map>

#include "reference/interpreter.h"

namespace fuseproof {

struct Float64Run {
  std::string no_oracle;  // why there is no opinion, with the node; empty: `wide` holds the outputs
};

// `native` holds the inputs, `wide` the widened ones; integer inputs are the same tensors in both.
// `policy` executes the native steps. Throws StepFailure when a native step fails.
Float64Run run_in_float64(const Program& program, Environment& native, Environment& wide,
                          StepPolicy& policy, Progress* progress);

// Values that a run rounds to a dtype of their own, and then keeps as wide as the others.
using RoundedSlots = std::unordered_map<int, at::ScalarType>;

// The program on widened inputs alone, with decisions of its own. Throws StepFailure, also for a
// program that draws from the generator or reads the bits of floats; what is drawn from a seed is
// the native draw, widened.
void run_free(const Program& program, Environment& wide, Widening widening,
              const RoundedSlots& rounded, Progress* progress);

}  // namespace fuseproof
