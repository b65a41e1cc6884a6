// Runs that show how far rounding alone can move a program's results.
//
// A disturbed run moves every float result that an operator rounds by about a unit in its last
// place, up or down at random for each element, before the next operator sees it, and lets
// reductions take their elements in another order. In half precision it is half a unit, and each
// use of a value is moved on its own: a kernel may hand one of them what it has rounded and another
// what it has not. Where an operator itself rounds a product before it adds it (alpha, addcmul), a
// factor is moved too. The outputs themselves are as their operator leaves them: given equal
// inputs, a single operator must be right. Operators that only move or select values add nothing.
//
// Decisions (comparisons, argmax, floor, …) are the native run's in a pinned run, so that its
// spread is that of rounding and not of a branch taken otherwise; a free run makes its own, and
// shows where a decision hangs on the last place. What is drawn at random is drawn once, by the
// native run.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "reference/interpreter.h"

namespace fuseproof {

// Results of a native run, by step, that disturbed runs take over.
struct NativeResults {
  std::unordered_map<std::size_t, c10::IValue> decisions;
  std::unordered_map<std::size_t, c10::IValue> random;
};

// Runs natively. Throws StepFailure.
NativeResults run_for_decisions(const Program& program, Environment& environment,
                                Progress* progress);

enum class Decisions : std::uint8_t { kPinned, kFree };

// `environment` holds the inputs before and the outputs after. Equal seeds give equal disturbances.
// Throws StepFailure.
void run_disturbed(const Program& program, Environment& environment, const NativeResults& native,
                   Decisions decisions, std::uint64_t seed, Progress* progress);

}  // namespace fuseproof
