#include "reference/interpreter.h"

#include <new>
#include <string_view>

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

using c10::IValue;

IValue value_of(const Symbol& symbol, const SymbolValues& symbols) {
  return std::visit([](auto number) { return IValue(number); },
                    evaluate(symbol.expression, symbols));
}

using Cause = StepFailure::Cause;

[[noreturn]] void fail(const Step& step, const char* message, Cause cause) {
  throw StepFailure{fmt::format("node `{}` ({}): {}", step.name, step.target, message), cause};
}

void execute(const Step& step, StepPolicy& policy, torch::jit::Stack& stack) {
  try {
    policy.execute(step, stack);
  } catch (const c10::NotImplementedError& error) {
    fail(step, error.what_without_backtrace(), Cause::kNoKernel);
  } catch (const c10::Error& error) {
    fail(step, error.what_without_backtrace(),
         is_out_of_memory(error) ? Cause::kOutOfMemory : Cause::kOperator);
  } catch (const Error& error) {
    fail(step, error.what(), Cause::kNoKernel);
  } catch (const std::bad_alloc& error) {
    fail(step, "out of memory", Cause::kOutOfMemory);
  } catch (const std::exception& error) {
    fail(step, error.what(), Cause::kOperator);
  }
}

}  // namespace

bool is_out_of_memory(const c10::Error& error) {
  return std::string_view(error.what_without_backtrace()).find("can't allocate memory") !=
         std::string_view::npos;
}

Environment::Environment(const Program& program, const SymbolValues& symbols)
    : values_(program.slot_count) {
  for (const SymbolSlot& entry : program.symbols) {
    values_[entry.slot] = value_of(entry.symbol, symbols);
  }
}

void Environment::run(const Step& step, StepPolicy& policy, Widening widening) {
  stack_.clear();
  for (const Operand& operand : step.operands) stack_.push_back(load(operand, values_, widening));
  execute(step, policy, stack_);
  if (stack_.size() == 1) {
    values_[step.result] = std::move(stack_.front());
  } else if (!stack_.empty()) {
    values_[step.result] = c10::ivalue::Tuple::create(std::move(stack_));
  }
  stack_.clear();
}

const at::Tensor& Environment::tensor(int slot, const std::string& name) const {
  if (values_[slot].isTensor() && values_[slot].toTensor().defined()) {
    return values_[slot].toTensor();
  }
  throw Error(ErrorKind::kBadInput,
              fmt::format("the output `{}` is no tensor, and cannot be compared", name));
}

void run(const Program& program, Environment& environment, StepPolicy& policy, Progress* progress) {
  for (const Step& step : program.steps) {
    mark(step, progress);
    environment.run(step, policy, Widening::kNone);
    environment.free_last_uses(step);
  }
}

}  // namespace fuseproof
