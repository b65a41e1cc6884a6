// Builds nodes and arguments of a fragment's graph, for what the FX graph has no node of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace fuseproof {

// A placeholder in a node's stead: of its name, value and source line.
Node placeholder_of(const Node& node);

// A call whose value is a row-major tensor.
Node tensor_call(std::string name, std::string_view target, std::vector<Argument> arguments,
                 DType dtype, std::vector<Size> shape);

// A number or a symbol, and a list of them.
Argument size_argument(const Size& size);
Argument size_list(const std::vector<Size>& sizes);

Argument dtype_constant(DType dtype);

}  // namespace fuseproof
