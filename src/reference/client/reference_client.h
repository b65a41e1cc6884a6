// The reference as seen from a process without torch: asks the worker `fuseproof-reference`, which
// is started on first use and again after it died.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/channel.h"
#include "base/process.h"
#include "bundle/runners.h"

namespace fuseproof {

struct ReferenceClientOptions {
  Path worker;                                      // the executable
  std::vector<EnvironmentChange> environment = {};  // of the worker, beyond this process's
  Path python = {};                       // runs what only Python can; empty: nothing does
  std::vector<std::string> imports = {};  // modules that register the user's operators
  std::chrono::seconds time_limit{600};   // for one request; the worker is killed beyond it
  IsCancelled is_cancelled = {};          // ends a request that runs: kInternal
};

class ReferenceClient : public ReferenceRunner {
 public:
  explicit ReferenceClient(ReferenceClientOptions options);
  ~ReferenceClient() override;

  void start() override;

  // Thread-safe; one request at a time. Throws kUnsupported when the worker is not there or cannot
  // load torch, or an operator is missing from torch; kInternal, with the node, when the worker
  // died or ran out of time: the next request starts a new one.
  ReferenceResult run(const Fragment& fragment, const CallRecord& call, const Arena& inputs,
                      const std::vector<ReferenceMode>& modes) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fuseproof
