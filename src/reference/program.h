// A graph made ready to run: targets resolved, arguments prepared by the operators' schemas, every
// value given a slot, and the last use of each value known.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "reference/kernel.h"
#include "reference/operand.h"

namespace fuseproof {

// One call of the graph.
struct Step {
  std::size_t node = 0;  // index into the graph's nodes
  std::string name;      // of the node, and its target: for messages
  std::string target;
  bool rounds = false;       // graph/op_kinds.h
  bool accumulates = false;  // likewise
  Kernel kernel;
  std::vector<Operand> operands;  // one for each argument of the kernel's schema
  int result = 0;                 // slot
  std::vector<int> last_uses;     // slots that are free after this step
};

struct SymbolSlot {
  Symbol symbol;
  int slot = 0;
};

struct Program {
  std::vector<Step> steps;
  std::vector<int> inputs;   // slots, in the order of the bound names
  std::vector<int> outputs;  // slots, in the order of the output names
  std::vector<SymbolSlot> symbols;
  int slot_count = 0;
};

// `inputs` names the nodes whose values are given (placeholders and constants, or any other node,
// which is then not computed); `outputs` those whose values are wanted. Throws kBadInput for a
// graph that is malformed and kUnsupported for an operator that neither this process nor Python
// has; both name the node. `python` may be null.
Program compile(const Graph& graph, const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs, PythonOperators* python);

}  // namespace fuseproof
