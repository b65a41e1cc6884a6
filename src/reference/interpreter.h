// Runs a program step by step over a table of values.
//
// What happens at a step is a policy, so that a run can look at values or change them (perturbed
// intermediate outputs, permuted reductions, a dump) without another interpreter.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>

#include "base/expression_value.h"
#include "reference/program.h"

namespace fuseproof {

// Executes one step: finds the kernel's arguments on the stack and leaves its results there.
class StepPolicy {
 public:
  virtual ~StepPolicy() = default;
  virtual void execute(const Step& step, torch::jit::Stack& stack) = 0;
};

// Each kernel as it is.
class NativePolicy : public StepPolicy {
 public:
  void execute(const Step& step, torch::jit::Stack& stack) override { step.kernel.call(stack); }
};

// The exception of an operator, as eager would raise it: names the node.
struct StepFailure {
  // Apart from the operator's own refusal, it is this torch or this machine that cannot. That says
  // nothing about what eager would have done with the user's own operator.
  enum class Cause : std::uint8_t { kOperator, kNoKernel, kOutOfMemory };

  std::string message;
  Cause cause = Cause::kOperator;
};

// The CPU allocator reports exhaustion as a plain c10::Error.
bool is_out_of_memory(const c10::Error& error);

// The values of one run.
class Environment {
 public:
  // Throws kBadInput for a symbol of the program's without a value.
  Environment(const Program& program, const SymbolValues& symbols);

  c10::IValue& operator[](int slot) { return values_[slot]; }
  const c10::IValue& operator[](int slot) const { return values_[slot]; }

  // Runs one step and stores its result: one value, or a tuple of several, or none.
  // Throws StepFailure.
  void run(const Step& step, StepPolicy& policy, Widening widening);
  void free_last_uses(const Step& step) {
    for (const int slot : step.last_uses) values_[slot] = c10::IValue();
  }

  // A tensor among the program's outputs. Throws kBadInput when the value is no tensor.
  const at::Tensor& tensor(int slot, const std::string& name) const;

 private:
  std::vector<c10::IValue> values_;
  torch::jit::Stack stack_;
};

// Where a run stands, for another process to read: the graph index of the node that runs. May be
// null.
using Progress = std::atomic<std::int64_t>;

inline void mark(const Step& step, Progress* progress) {
  if (progress == nullptr) return;
  progress->store(static_cast<std::int64_t>(step.node), std::memory_order_relaxed);
}

// All steps. `environment` holds the inputs before and the outputs after. Throws StepFailure.
void run(const Program& program, Environment& environment, StepPolicy& policy, Progress* progress);

}  // namespace fuseproof
