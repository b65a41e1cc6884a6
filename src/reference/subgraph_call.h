// A call of an operator of higher order (cond, while_loop), which is given graphs to call. Such
// operators have no schema and are Python's alone. So the call itself goes to the Python process,
// as plain data with its graphs, and only its operands, the values that it takes from the graph
// around it, pass over the dispatcher's stack.
#pragma once

#include "graph/graph.h"

namespace fuseproof {

struct SubgraphCall {
  // The node with its operands for arguments, each once: the values of other nodes, and symbols.
  Node operands;
  // {"arguments", "keywords", "subgraphs", "operand_count"}: the arguments as they are, but for
  // {"node": "2"} where operand 2 stands.
  Json call;
};

// By its arguments, or by its target where it takes no graph.
bool is_subgraph_call(const Node& node);

SubgraphCall subgraph_call(const Graph& graph, const Node& node);

}  // namespace fuseproof
