// Slicing: from the lowering record of a kernel to its fragment.
//
// For every argument that the kernel writes, the FX value that must stand there in the end is
// looked up, and the graph is followed backward from it until values are reached that stand in the
// kernel's arguments on entry. Each output is sliced for itself, so that one that cannot be
// recovered costs only itself; the fragment is the union. Calls keep the graph's order, hence
// in-place calls work on the values that they worked on in the graph: whoever runs a fragment runs
// it on a copy of the inputs.
//
// What stops a slice is a reason in words, "kind: detail"; the part before the colon is what is
// counted. Nothing is ever left out in silence: each written argument is in Fragment::outputs.
#pragma once

#include "fragment/fragment.h"
#include "fragment/lowering_record.h"

namespace fuseproof {

struct SlicedKernel {
  Fragment fragment;
  // Nodes of the graph that are constants and stand in no argument, in order. A call record appends
  // them to the kernel's own arguments, and the fragment's inputs point there.
  std::vector<std::string> constants;
};

SlicedKernel slice(const LoweredGraph& lowered, const LoweringRecord& record);

}  // namespace fuseproof
