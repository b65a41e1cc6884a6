// Operators that this process does not have, run by a Python process (python/python_worker.h):
// prims without a C++ form, operators that are registered from Python, operators whose only
// implementation for the CPU is a Python one, and calls of operators of higher order
// (subgraph_call.h).
#pragma once

#include <map>
#include <memory>
#include <string>

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include "reference/python/python_worker.h"
#include "reference/subgraph_call.h"

namespace fuseproof {

class PythonOperator {
 public:
  // `subgraph_call`: null but for a call of an operator of higher order, with its graphs.
  PythonOperator(std::string target, Json subgraph_call, std::shared_ptr<PythonWorker> worker);

  const std::shared_ptr<const c10::FunctionSchema>& schema() const { return schema_; }
  bool draws_random_numbers() const { return draws_random_numbers_; }
  bool calls_subgraphs() const { return !subgraph_call_.is_null(); }

  // Takes schema()'s arguments off the stack and leaves its results; writes to arguments arrive.
  // Under this thread's number of threads, floating-point mode, grad mode and default dtype,
  // drawing from the default generator as it is. Throws c10::Error with the operator's own message
  // where it raises, and Error(kUnsupported) where it cannot be run.
  void call(torch::jit::Stack& stack) const;

 private:
  std::string target_;
  Json subgraph_call_;
  std::shared_ptr<PythonWorker> worker_;
  std::shared_ptr<const c10::FunctionSchema> schema_;
  bool draws_random_numbers_ = false;
};

class PythonOperators {
 public:
  explicit PythonOperators(PythonWorkerOptions options)
      : worker_(std::make_shared<PythonWorker>(std::move(options))) {}

  // Throws Error(kUnsupported) with the reason where Python has no such operator either.
  std::shared_ptr<const PythonOperator> find(const std::string& target);
  // One call of an operator of higher order. Throws as well where its graphs cannot be rebuilt.
  std::shared_ptr<const PythonOperator> make(const SubgraphCall& call);

 private:
  std::shared_ptr<PythonWorker> worker_;
  std::map<std::string, std::shared_ptr<const PythonOperator>> known_;
};

}  // namespace fuseproof
