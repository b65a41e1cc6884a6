// Python's arithmetic on numbers that a graph computes from data (how many elements of a mask are
// true, say): what a traced program does with such a size before it is one. Numbers that follow
// from the sizes of the inputs stand in fragments as expressions instead, and need none of this.
#pragma once

#include <string_view>

#include "reference/prims.h"

namespace fuseproof {

// Of a node's target: "python:_operator.floordiv". Null when there is no such function here.
const Prim* find_number_function(std::string_view target);

}  // namespace fuseproof
