#include "reference/fragment_program.h"

#include <algorithm>
#include <deque>
#include <new>
#include <string>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "base/error.h"
#include "reference/call_inputs.h"
#include "reference/float64_run.h"
#include "reference/further_runs.h"
#include "reference/interpreter.h"
#include "reference/machine_state.h"
#include "reference/tensors.h"

namespace fuseproof {
namespace {

struct RunPair {
  Computed native;
  Computed wide;
};

// This torch or this machine cannot compute it.
[[noreturn]] void fail_for_limits(const std::string& why) {
  throw Error(ErrorKind::kUnsupported, "the reference cannot run: " + why);
}

enum class Float64 : std::uint8_t { kNotWanted, kWanted };

ReferenceResult copied_to_arena(const std::vector<const Computed*>& computed) {
  ReferenceResult result;
  std::vector<StorageRequest> requests;
  std::vector<const at::Tensor*> sources;
  for (const Computed* part : computed) {
    ReferenceRun run = part->run;
    for (const at::Tensor& tensor : part->outputs) {
      const Layout layout = layout_of(tensor);
      run.outputs.push_back({.storage = requests.size(), .layout = layout});
      requests.push_back({.size_bytes = required_storage_bytes(layout), .address_mod_64 = 0});
      sources.push_back(&tensor);
    }
    result.runs.push_back(std::move(run));
  }
  result.arena = std::make_shared<Arena>(Arena::create(requests));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    copy_extent(*sources[i], result.arena->storage(i));
  }
  return result;
}

// The native opinion and, when it is wanted, the float64 one, in one pass.
void compute(const FragmentRun& run, CallInputs& inputs, Float64 float64, RunPair& runs) {
  const bool is_wanted = float64 == Float64::kWanted;
  auto& [native, wide] = runs;
  Environment native_values(run.program, run.call.symbols);
  Environment wide_values(run.program, run.call.symbols);
  inputs.bind(run.program, native_values);
  if (is_wanted) inputs.bind_widened(run.program, wide_values, Widening::kFloat64);
  NativePolicy policy;
  try {
    if (is_wanted) {
      wide.run.no_oracle =
          run_in_float64(run.program, native_values, wide_values, policy, run.progress).no_oracle;
    } else {
      fuseproof::run(run.program, native_values, policy, run.progress);
    }
  } catch (const StepFailure& failure) {
    if (failure.cause != StepFailure::Cause::kOperator) fail_for_limits(failure.message);
    native.run.exception = failure.message;
    wide.run.exception = failure.message;
    return;
  }
  native.outputs = output_tensors(run, native_values);
  if (!is_wanted || !wide.run.no_oracle.empty()) return;
  wide.outputs = output_tensors(run, wide_values);
  for (std::size_t i = 0; i < wide.outputs.size(); ++i) {
    wide.outputs[i] = restrided(wide.outputs[i], native.outputs[i].strides());
  }
}

Computed compute_further(ReferenceMode mode, const FragmentRun& run, const Computed& exact) {
  try {
    switch (mode) {
      case ReferenceMode::kEnvelope: return compute_envelope(run, exact.outputs);
      case ReferenceMode::kSpan: return compute_span(run);
      case ReferenceMode::kUnrounded: return compute_unrounded(run);
      case ReferenceMode::kOpen: return compute_open(run);
      case ReferenceMode::kNative:
      case ReferenceMode::kFloat64: break;
    }
  } catch (const StepFailure& failure) {
    if (failure.cause == StepFailure::Cause::kOutOfMemory) fail_for_limits(failure.message);
    Computed failed;
    failed.run.exception = failure.message;
    return failed;
  }
  throw Error(ErrorKind::kInternal, "a mode of the reference that is no further run");
}

}  // namespace

struct FragmentProgram::State {
  Fragment fragment;
  std::vector<std::string> output_names;
  Program program;

  ReferenceResult run(const CallRecord& call, const Arena& inputs,
                      const std::vector<ReferenceMode>& modes, Progress* progress) const;
};

FragmentProgram::FragmentProgram(Fragment fragment, PythonOperators* python)
    : state_(std::make_unique<State>()) {
  std::vector<std::string> inputs;
  for (const FragmentInput& input : fragment.inputs) inputs.push_back(input.node);
  for (const FragmentOutput& output : fragment.outputs) {
    if (output.is_checked()) state_->output_names.push_back(output.node);
  }
  state_->program = compile(fragment.graph, inputs, state_->output_names, python);
  state_->fragment = std::move(fragment);
}

FragmentProgram::~FragmentProgram() = default;

ReferenceResult FragmentProgram::State::run(const CallRecord& call, const Arena& inputs,
                                            const std::vector<ReferenceMode>& modes,
                                            Progress* progress) const {
  const MachineState machine(call);
  const at::AutoGradMode grad_mode(call.grad_mode);
  // What no_grad and inference_mode come down to for tensors that need no gradient; results are the
  // same bits, and each call is spared two dispatches.
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const FragmentRun fragment_run{fragment, program, output_names, call, inputs, progress};
  CallInputs call_inputs(fragment, call, inputs);
  const auto is_wanted = [&](ReferenceMode mode) {
    return std::find(modes.begin(), modes.end(), mode) != modes.end();
  };
  const bool needs_float64 =
      is_wanted(ReferenceMode::kFloat64) || is_wanted(ReferenceMode::kEnvelope);
  RunPair runs;
  if (is_wanted(ReferenceMode::kNative) || needs_float64) {
    compute(fragment_run, call_inputs, needs_float64 ? Float64::kWanted : Float64::kNotWanted,
            runs);
  }
  std::deque<Computed> further;
  std::vector<const Computed*> wanted;
  for (const ReferenceMode mode : modes) {
    if (mode == ReferenceMode::kNative) {
      wanted.push_back(&runs.native);
    } else if (mode == ReferenceMode::kFloat64) {
      wanted.push_back(&runs.wide);
    } else {
      further.push_back(compute_further(mode, fragment_run, runs.wide));
      wanted.push_back(&further.back());
    }
  }
  ReferenceResult result = copied_to_arena(wanted);
  for (const Step& step : program.steps) {
    if (step.kernel.runs_in_python()) result.python_nodes.push_back({step.name, step.target});
  }
  return result;
}

ReferenceResult FragmentProgram::run(const CallRecord& call, const Arena& inputs,
                                     const std::vector<ReferenceMode>& modes,
                                     std::atomic<std::int64_t>* progress) const {
  try {
    return state_->run(call, inputs, modes, progress);
  } catch (const std::bad_alloc&) {
    fail_for_limits("out of memory");
  } catch (const c10::Error& error) {
    if (is_out_of_memory(error)) fail_for_limits(error.what_without_backtrace());
    // Not of an operator: those are a run's `exception`.
    throw Error(ErrorKind::kInternal, fmt::format("torch refused to prepare a reference run: {}",
                                                  error.what_without_backtrace()));
  }
}

}  // namespace fuseproof
