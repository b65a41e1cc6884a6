// What a node's target names, resolved once: an operator of the ATen dispatcher, a prim with a C++
// form (prims.h), `getitem`, arithmetic on numbers (number_functions.h), or else an operator that a
// Python process runs (python_operator.h). All have a schema and run over the dispatcher's stack.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "graph/graph.h"
#include "reference/prims.h"
#include "reference/python_operator.h"

namespace fuseproof {

class Kernel {
 public:
  // What this process lacks is looked for in Python; `python` may be null. Throws kUnsupported,
  // naming node and target, when there is no such operator or none for the CPU.
  static Kernel resolve(const Node& node, PythonOperators* python);
  // The same for an operator of higher order, which only Python has.
  static Kernel resolve(const SubgraphCall& call, PythonOperators* python);

  const c10::FunctionSchema& schema() const { return *schema_; }
  Randomness randomness() const { return randomness_; }
  bool draws_random_numbers() const { return randomness_ != Randomness::kNone; }
  // Whether the result is memory that nobody has written yet. So that runs repeat themselves, it is
  // given NaN, the largest integer or true.
  bool leaves_content_open() const { return leaves_content_open_; }
  bool runs_in_python() const { return python_ != nullptr; }
  bool calls_subgraphs() const { return python_ != nullptr && python_->calls_subgraphs(); }

  // Takes schema().arguments() off the stack and leaves schema().returns().
  void call(torch::jit::Stack& stack) const {
    run(stack);
    if (leaves_content_open_) fill_open_content(stack);
  }

 private:
  // What this process has. Nothing, and `why`, when it has no such operator.
  static std::optional<Kernel> find(const Node& node, std::string& why);
  static std::optional<Kernel> find_prim_kernel(const Node& node, std::string& why);
  static std::optional<Kernel> find_operator_kernel(const Node& node, std::string& why);
  static Kernel from_prim(const Prim& prim, const Node& node);
  static Kernel from_python(std::shared_ptr<const PythonOperator> found);

  void run(torch::jit::Stack& stack) const {
    if (function_ != nullptr) return function_(stack);
    if (python_ != nullptr) return python_->call(stack);
    for (const c10::IValue& value : trailing_defaults_) stack.push_back(value);
    operator_->callBoxed(stack);
  }
  static void fill_open_content(torch::jit::Stack& stack);

  std::shared_ptr<const c10::FunctionSchema> schema_;
  std::optional<c10::OperatorHandle> operator_;
  // Of the operator's arguments that come after those of the schema.
  std::vector<c10::IValue> trailing_defaults_;
  PrimFunction function_ = nullptr;
  std::shared_ptr<const PythonOperator> python_;
  Randomness randomness_ = Randomness::kNone;
  bool leaves_content_open_ = false;
};

}  // namespace fuseproof
