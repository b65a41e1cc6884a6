// What the ops of a fragment do to the rounding of one of its outputs: how many round, how
// coarsely, and whether PyTorch leaves the order open in which they add.
#pragma once

#include <string>

#include "graph/graph.h"

namespace fuseproof {

struct Rounding {
  int ops = 0;
  int coarsest_bits = 53;                  // of a significand
  bool is_half_between = false;            // a node before the last one has a half-precision value
  bool accumulates_in_open_order = false;  // graph/op_kinds.h, of float values
};

// Of the nodes that the value of `target` hangs on.
Rounding rounding_before(const Graph& graph, const std::string& target);

}  // namespace fuseproof
