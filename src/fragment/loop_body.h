// From one loop body to calls of the fragment's graph.
//
// A loop body is scalar code over a space of points. Each of its values becomes a tensor over that
// space: a load is a view of the buffer, with the index's coefficients for strides; an operation is
// the ATen call of the same meaning (loop_ops.h); a reduction goes over the inner dimensions; a
// store says where in the buffer the tensor's elements stand. As generated code does, operations
// compute half precision in float32.
//
// What is not translated (indices that are not affine, gathers, masks, scans, random numbers) is an
// error with the reason. Nothing is approximated.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fragment/lowering_record.h"

namespace fuseproof {

// A tensor, and where its elements stand in a buffer, relative to the buffer's first element.
struct BufferValue {
  std::string node;
  SymbolicLayout layout;
};

// Gives the node whose value is what `view` (relative to the buffer's first element) shows of a
// buffer when the loop body runs. Throws kUnsupported when there is none.
using LoadBuffer =
    std::function<std::string(const std::string& buffer, const SymbolicLayout& view)>;

struct StoredBuffer {
  std::string buffer;
  BufferValue value;
};

struct LoopBodyCalls {
  std::vector<Node> nodes;  // those that `load` returned are not among them
  std::vector<StoredBuffer> stores;
};

// Throws kUnsupported.
[[noreturn]] void cannot_translate(const std::string& reason);

// Names of nodes begin with `prefix` and a dot, which no name in an FX graph has. Throws
// kUnsupported, with the reason, for what cannot be translated.
LoopBodyCalls translate_loop_body(const LoweredGraph& lowered, const RecordedLoopBody& body,
                                  const std::string& prefix, const LoadBuffer& load);

}  // namespace fuseproof
