// A whole graph as a fragment, so that it is run, and its inputs are recorded, as a kernel's part
// of one is.
//
// Its arguments are those of the graph's own call: the placeholders in their order, then the
// constants that are tensors in theirs. Its outputs are what the graph's output node names, in
// order, followed by the placeholders that a call writes into. Results lie behind the arguments:
// result k is argument n + k.
#pragma once

#include "fragment/fragment.h"
#include "fragment/lowering_record.h"

namespace fuseproof {

// What is no tensor (None, a size) is an output that is not checked. A number that follows from
// symbols which the arguments show becomes a placeholder, as everywhere in fragments; one that does
// not, a size in the data, is computed. `failure` is set for a graph that holds a node which could
// not be recorded.
Fragment whole_graph(const LoweredGraph& lowered);

}  // namespace fuseproof
