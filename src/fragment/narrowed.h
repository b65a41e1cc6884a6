// A fragment with fewer checked outputs, for when a loop body's part of it cannot be run.
//
// Nodes of the FX graph all stay: which of them an output needs is not for its operands alone to
// say, since calls may change a storage that another one reads. Those that come from loop bodies
// change nothing in place, so that each output needs its operands alone.
#pragma once

#include <cstddef>
#include <set>

#include "fragment/fragment.h"

namespace fuseproof {

// Whether the node was translated from a loop body; the names of others have no dot.
bool is_of_loop_body(const Node& node);

// Indices into the outputs: those that FX values check, and those that loop bodies do.
std::set<std::size_t> outputs_from(const Fragment& fragment, OutputSource source);

// The outputs at other indices than these are unchecked, and what the loop bodies of them alone
// need is gone. Outputs keep their indices.
Fragment narrowed(const Fragment& fragment, const std::set<std::size_t>& kept);

}  // namespace fuseproof
