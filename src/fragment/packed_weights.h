// Calls with a weight that a library has packed for itself.
//
// Freezing packs the weights of linear layers once, and the graph then calls with an opaque tensor
// that no record can hold. Where the call has the plain weight too, it is read as what it computes,
// without the packed copy.
#pragma once

#include "graph/graph.h"

namespace fuseproof {

// `call` in terms of plain weights; any other call as it is.
Node with_plain_weights(const Node& call);

}  // namespace fuseproof
