// A Python process for what only Python can run: operators that torch, or a package of the user's,
// registers from Python. Free of torch.
//
// `<python> -m fuseproof._python_worker --channel FD [--import MODULE]…`, started on first use and
// again after it died. One node at a time, over a Channel:
//
//   request  {"request": "describe", "target": "prims.svd.default"}
//   reply    {"reply": "operator", "schema": "prims::svd(Tensor A, …) -> …",
//             "draws_random_numbers": false}
//   request  {"request": "call", "target", "arguments": [value…], "state": {"threads",
//             "flushes_denormals", "grad_mode", "default_dtype",
//             "float32_precision": {"matmul": …}, "generator": tensor}, "arena": {…}}
//                                                      and the arguments' arena
//   reply    {"reply": "results", "results": [value…], "arena": {…}}    and the results' arena
//   reply    {"reply": "raised", "message", "is_unimplemented"}   the operator's own exception
//   reply    {"reply": "refused", "message"}              it cannot be run, and why
//
// Both requests of an operator of higher order have "subgraph_call" (reference/subgraph_call.h):
// the call with its graphs, whose operands are then the arguments. The schema is one for that call.
//
// Arguments and results stand in the order of the schema. A value is written as in a graph
// (graph/graph.h), a tensor as {"storage": index, "layout": {…}}: a storage of the message's own
// arena, or, in a result with "of_arguments": true, one of the request's: a view of an argument.
// What the operator writes into its arguments it writes into the request's arena; so is the
// generator's state after the call.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "tensor/arena.h"

namespace fuseproof {

struct PythonWorkerOptions {
  Path python;                           // the interpreter; empty: there is none
  std::vector<std::string> imports;      // modules that register the user's operators
  std::chrono::seconds time_limit{300};  // for one request, start-up included
};

class PythonWorker {
 public:
  struct Reply {
    Json body;
    std::optional<Arena> arena;
  };

  explicit PythonWorker(PythonWorkerOptions options);
  ~PythonWorker();

  // `arguments` may be null. A refusal, a process that cannot be started, dies or is late are
  // Error(kUnsupported): this machine cannot run the operator.
  Reply ask(const Json& request, const Arena* arguments);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fuseproof
