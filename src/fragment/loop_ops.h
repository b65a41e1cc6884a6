// The operations of loop bodies that work element by element, by their names, and the ATen calls
// that compute the same. An operation that is not here, or that another dtype is given to, makes
// its loop body one that cannot be translated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace fuseproof {

// For which dtypes an operation and its call are one. (Arithmetic on bools is not: C++ counts.)
enum class LoopOpDomain : std::uint8_t { kFloat, kNumber, kBitwise, kAny };

enum class LoopOpForm : std::uint8_t {
  kUnary,
  kBinary,
  kSquare,  // a binary call with the one operand twice
  kSelect   // a bool, then two operands
};

struct LoopOp {
  std::string_view name;    // "truediv"
  std::string_view target;  // "aten.div.Tensor"
  LoopOpForm form = LoopOpForm::kUnary;
  LoopOpDomain domain = LoopOpDomain::kFloat;
  bool gives_bool = false;
};

// Null for an unknown name.
const LoopOp* find_loop_op(std::string_view name);

// Whether operations of loop bodies become calls of it.
bool is_loop_op_target(std::string_view target);

bool admits(LoopOpDomain domain, DType dtype);

}  // namespace fuseproof
