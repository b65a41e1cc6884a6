// What an operator does to rounding errors, by its name. The judgement of a difference hangs on it:
// an operator that rounds adds an error, one that moves values adds none, one that decides turns an
// error of a last place into another value altogether.
#pragma once

#include <string>

#include "graph/graph.h"

namespace fuseproof {

// These take a node's target: "aten.add.Tensor".

// Results are some of the arguments' values (or constants), unrounded: clone, cat, relu, max,
// where, views.
bool moves_values(const std::string& target);

// Float results that jump where an argument crosses a border: floor, round, sign, remainder.
// (Comparisons and argmax decide too; their results are no floats.)
bool decides(const std::string& target);

// The result depends on the order of the elements along the reduced dimensions by rounding alone.
bool reduces(const std::string& target);

// Whether an operator asks its tensor argument at that position for its layout alone (the shape
// that a gradient is to have), and never for its elements.
bool reads_layout_alone(const std::string& target, std::size_t argument);

// These hang on a node's arguments too.

// Adds up what falls on one place: scatter_add, index_add, index_put with accumulate=True.
bool accumulates(const Node& node);

// Accumulates in an order that PyTorch leaves open on the CPU: the documentation of
// torch.use_deterministic_algorithms lists index_put and put_ with accumulate=True, and the
// gradient of an indexing, among the "normally-nondeterministic operations" there, and the scatter
// family on CUDA alone.
bool accumulates_in_open_order(const Node& node);

// Adds rounding errors of its own to float results.
inline bool rounds(const Node& node) {
  return accumulates(node) || (!moves_values(node.target) && !decides(node.target));
}

}  // namespace fuseproof
