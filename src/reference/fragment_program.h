// A fragment made ready to run on recorded calls. Free of torch's headers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "bundle/runners.h"

namespace fuseproof {

class PythonOperators;

class FragmentProgram {
 public:
  // Nodes that this process cannot run go to `python`, which may be null. Throws kBadInput
  // (malformed graph) or kUnsupported (no such operator); both name the node.
  explicit FragmentProgram(Fragment fragment, PythonOperators* python = nullptr);
  ~FragmentProgram();

  // Runs the fragment in each mode on the call's storages, which are mapped copy-on-write and stay
  // as they are. Threads, MXCSR and grad mode are those of the call, for the duration. While an
  // operator runs, `progress` (may be null) holds its node's index in the graph.
  ReferenceResult run(const CallRecord& call, const Arena& inputs,
                      const std::vector<ReferenceMode>& modes,
                      std::atomic<std::int64_t>* progress) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fuseproof
