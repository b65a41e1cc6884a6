// The slice of one output: what the graph computes between the kernel's arguments and one FX value.
//
// The walk goes backward from the value and stops at values that stand in arguments on entry. It
// gives up, with a reason, rather than take in what is not this kernel's: an external call, another
// kernel's result, a graph input that the kernel does not have.
#pragma once

#include <map>
#include <set>
#include <string>

#include "fragment/boundary.h"

namespace fuseproof {

// All sets are of positions in the lowered graph.
struct Slice {
  std::set<std::size_t> calls;
  std::set<std::size_t> constants;
  std::map<std::size_t, FragmentInput> inputs;
  // Symbolic numbers: what computes them need not be in the fragment, the symbols' values tell.
  std::set<std::size_t> numbers;
  // Tensors without elements, with open content (aten.empty), or of which only the layout counts,
  // that stand in no argument: nobody computes or passes them.
  std::set<std::size_t> empties;
  std::string reason;  // why there is no slice; empty: there is one

  bool has_value(std::size_t position) const {
    return calls.contains(position) || constants.contains(position) || inputs.contains(position);
  }
};

// `after_mutations`: as the kernel leaves it, after all that it writes into the value's memory.
Slice slice_output(const LoweredGraph& lowered, const KernelBoundary& boundary,
                   const std::string& output, bool after_mutations = false);

}  // namespace fuseproof
