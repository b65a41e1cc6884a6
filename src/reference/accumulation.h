// Accumulating operators (scatter_add, index_add, index_put with accumulate) as what they are: rows
// of addends that fall on places of the first argument. A kernel's threads add them in any order,
// and sums of many elements differ by the order, as a reduction's do.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "reference/program.h"

namespace fuseproof {

struct Addends {
  at::Tensor places;  // [n]: indices into the first argument's elements in row-major order
  at::Tensor values;  // [n]: in the first argument's dtype
};

// Of a step that accumulates, from its arguments. Nothing for an operator whose addends are not its
// arguments' elements.
std::optional<Addends> addends_of(const Step& step, const torch::jit::Stack& stack);

// `before` with the addends added one after the other, in their order; of the shape of `before`.
at::Tensor accumulated(const at::Tensor& before, const Addends& addends);

}  // namespace fuseproof
