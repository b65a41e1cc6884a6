// The fragment as a Python function: the same calls in the same order with the same results, on the
// sizes of one call. What cannot be written so has no function at all, and a reason.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/expression_value.h"
#include "fragment/fragment.h"

namespace fuseproof {

struct EagerFunction {
  std::string code;                  // "def eager_fn(inputs):\n …"; "" where there is none
  std::vector<std::string> inputs;   // nodes that it takes, in the order of `inputs`
  std::vector<std::string> outputs;  // nodes whose values it returns, in the kernel's order
  std::string failure;               // why there is none
};

// `symbols`: what the graph's symbols stand for. `constants`: nodes whose values are written out,
// as Python expressions; other constants are inputs.
EagerFunction eager_function(const Fragment& fragment, const SymbolValues& symbols,
                             const std::map<std::string, std::string>& constants);

}  // namespace fuseproof
