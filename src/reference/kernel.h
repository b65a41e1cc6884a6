// What a node's target names, resolved once: an operator of the ATen dispatcher, a prim with a C++
// form (prims.h), or `getitem`. All three have a schema and run over the dispatcher's stack.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "graph/graph.h"
#include "reference/prims.h"

namespace fuseproof {

class Kernel {
 public:
  // Throws kUnsupported, naming node and target, when this process has no such operator or none for
  // the CPU.
  static Kernel resolve(const Node& node);

  const c10::FunctionSchema& schema() const { return *schema_; }
  bool draws_random_numbers() const { return draws_random_numbers_; }

  // Takes schema().arguments() off the stack and leaves schema().returns().
  void call(torch::jit::Stack& stack) const {
    if (function_ != nullptr) return function_(stack);
    for (const c10::IValue& value : trailing_defaults_) stack.push_back(value);
    operator_->callBoxed(stack);
  }

 private:
  static Kernel from_operator(const Node& node);
  static Kernel from_prim(const Prim& prim, const Node& node);

  std::shared_ptr<const c10::FunctionSchema> schema_;
  std::optional<c10::OperatorHandle> operator_;
  // Of the operator's arguments that come after those of the schema.
  std::vector<c10::IValue> trailing_defaults_;
  PrimFunction function_ = nullptr;
  bool draws_random_numbers_ = false;
};

}  // namespace fuseproof
