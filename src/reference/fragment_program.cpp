#include "reference/fragment_program.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include "base/error.h"
#include "reference/float64_run.h"
#include "reference/interpreter.h"
#include "reference/machine_state.h"
#include "reference/perturbed_run.h"
#include "reference/tensors.h"

namespace fuseproof {
namespace {

// The storages of one call, mapped copy-on-write, and the tensors that the fragment sees in them.
class CallInputs {
 public:
  CallInputs(const Fragment& fragment, const CallRecord& call, const Arena& arena)
      : fragment_(fragment), call_(call), arena_(map_privately(arena)) {
    if (call.storages.size() != arena_.storage_count()) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("a call of {} storages comes with an arena of {}",
                              call.storages.size(), arena_.storage_count()));
    }
    for (std::size_t i = 0; i < arena_.storage_count(); ++i) {
      storages_.push_back(borrow_storage(arena_.storage(i)));
    }
  }

  // Sets the inputs' slots; in `wide`, when there is one, to the widened values.
  void bind(const Program& program, Environment& native, Environment* wide) {
    for (std::size_t i = 0; i < fragment_.inputs.size(); ++i) {
      const FragmentInput& input = fragment_.inputs[i];
      const CallArgument& argument = argument_of(input);
      const int slot = program.inputs[i];
      native[slot] = native_value(input, argument);
      if (wide != nullptr) (*wide)[slot] = wide_value(input, argument, native[slot]);
    }
  }

 private:
  static Arena map_privately(const Arena& arena) {
    const int fd = ::dup(arena.fd());
    if (fd < 0) throw Error(ErrorKind::kIo, "cannot duplicate the descriptor of an arena");
    return Arena::attach(fd, arena.description(), Arena::Sharing::kPrivate);
  }

  const CallArgument& argument_of(const FragmentInput& input) const {
    if (input.argument >= 0 && input.argument < std::ssize(call_.arguments)) {
      return call_.arguments[input.argument];
    }
    throw Error(
        ErrorKind::kBadInput,
        fmt::format("the fragment's input `{}` is bound to argument {} of a call that has {}",
                    input.node, input.argument, call_.arguments.size()));
  }

  // The input's layout counted from the start of its storage.
  Layout layout_of_input(const FragmentInput& input, const CallArgument& argument) const {
    if (!input.layout) return argument.layout;
    Layout layout = *input.layout;
    const auto item = static_cast<std::int64_t>(dtype_size_bytes(layout.dtype));
    const std::int64_t begin_bytes =
        argument.layout.offset * static_cast<std::int64_t>(dtype_size_bytes(argument.layout.dtype));
    if (begin_bytes % item != 0) {
      throw Error(ErrorKind::kUnsupported,
                  fmt::format("the fragment's input `{}` begins between two elements of {}",
                              input.node, dtype_name(layout.dtype)));
    }
    layout.offset += begin_bytes / item;
    return layout;
  }

  std::size_t storage_of(const FragmentInput& input, const CallArgument& argument) const {
    if (argument.storage >= 0 && argument.storage < std::ssize(storages_)) return argument.storage;
    throw Error(ErrorKind::kBadInput,
                fmt::format("the fragment's input `{}` is bound to an argument "
                            "without a storage",
                            input.node));
  }

  c10::IValue native_value(const FragmentInput& input, const CallArgument& argument) {
    if (argument.kind == CallArgument::Kind::kInteger) return argument.integer;
    if (argument.kind == CallArgument::Kind::kFloat) return argument.number;
    return view_storage(storages_[storage_of(input, argument)], layout_of_input(input, argument),
                        fmt::format("the fragment's input `{}`", input.node));
  }

  c10::IValue wide_value(const FragmentInput& input, const CallArgument& argument,
                         const c10::IValue& native) {
    if (!native.isTensor() || !is_inexact(native.toTensor().scalar_type())) return native;
    const at::Tensor& tensor = native.toTensor();
    const at::Tensor& base =
        wide_base(storage_of(input, argument), layout_of_input(input, argument));
    return base.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  }

  // A whole storage widened, once for each dtype in which it is seen: views that alias natively
  // alias in float64 too.
  const at::Tensor& wide_base(std::size_t storage, const Layout& layout) {
    const auto [entry, is_new] = wide_bases_.try_emplace({storage, layout.dtype});
    if (is_new) {
      const auto item = dtype_size_bytes(layout.dtype);
      const auto count = static_cast<std::int64_t>(storages_[storage].nbytes() / item);
      const at::Tensor whole =
          view_storage(storages_[storage],
                       {.dtype = layout.dtype, .shape = {count}, .strides = {1}}, "a storage");
      const at::ScalarType dtype = widened(whole.scalar_type());
      // A copy even where the dtype is wide already: the native run may write to the storage.
      entry->second = whole.to(dtype, /*non_blocking=*/false, /*copy=*/true);
    }
    return entry->second;
  }

  const Fragment& fragment_;
  const CallRecord& call_;
  Arena arena_;
  std::vector<c10::Storage> storages_;
  std::map<std::pair<std::size_t, DType>, at::Tensor> wide_bases_;
};

// What one mode computed, before it is copied to shared memory. Outputs may lie in the call's own
// storages, which CallInputs owns.
struct Computed {
  std::vector<at::Tensor> outputs;
  ReferenceRun run;
};

struct Opinions {
  Computed native;
  Computed wide;
};

// This torch or this machine cannot compute it.
[[noreturn]] void fail_for_limits(const std::string& why) {
  throw Error(ErrorKind::kUnsupported, "the reference cannot run: " + why);
}

enum class Float64 : std::uint8_t { kNotWanted, kWanted };

std::vector<at::Tensor> output_tensors(const Program& program, const Environment& environment,
                                       const std::vector<std::string>& names) {
  std::vector<at::Tensor> tensors;
  for (std::size_t i = 0; i < names.size(); ++i) {
    tensors.push_back(environment.tensor(program.outputs[i], names[i]));
  }
  return tensors;
}

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

}  // namespace

struct FragmentProgram::State {
  Fragment fragment;
  std::vector<std::string> output_names;
  Program program;

  ReferenceResult run(const CallRecord& call, const Arena& inputs,
                      const std::vector<ReferenceMode>& modes, Progress* progress) const;
  // The native opinion and, when it is wanted, the float64 one, in one pass.
  void compute(CallInputs& inputs, const CallRecord& call, Float64 float64, Progress* progress,
               Opinions& opinions) const;
  // Runs the fragment disturbed, kDraws times, and shows each one's outputs to the visitor.
  using SampleVisitor = std::function<void(const std::vector<at::Tensor>&)>;
  void draw(const CallRecord& call, const Arena& inputs, Decisions decisions, Progress* progress,
            const SampleVisitor& visit) const;
  Computed compute_envelope(const CallRecord& call, const Arena& inputs, const Computed& exact,
                            Progress* progress) const;
  Computed compute_span(const CallRecord& call, const Arena& inputs, Progress* progress) const;
  Computed spread(ReferenceMode mode, const CallRecord& call, const Arena& inputs,
                  const Computed& exact, Progress* progress) const;
};

FragmentProgram::FragmentProgram(Fragment fragment) : state_(std::make_unique<State>()) {
  std::vector<std::string> inputs;
  for (const FragmentInput& input : fragment.inputs) inputs.push_back(input.node);
  for (const FragmentOutput& output : fragment.outputs) {
    if (output.source == OutputSource::kFx) state_->output_names.push_back(output.node);
  }
  state_->program = compile(fragment.graph, inputs, state_->output_names);
  state_->fragment = std::move(fragment);
}

FragmentProgram::~FragmentProgram() = default;

void FragmentProgram::State::compute(CallInputs& inputs, const CallRecord& call, Float64 float64,
                                     Progress* progress, Opinions& opinions) const {
  const bool is_wanted = float64 == Float64::kWanted;
  auto& [native, wide] = opinions;
  Environment native_values(program, call.symbols);
  Environment wide_values(program, call.symbols);
  inputs.bind(program, native_values, is_wanted ? &wide_values : nullptr);
  NativePolicy policy;
  try {
    if (is_wanted) {
      wide.run.no_oracle =
          run_in_float64(program, native_values, wide_values, policy, progress).no_oracle;
    } else {
      fuseproof::run(program, native_values, policy, progress);
    }
  } catch (const StepFailure& failure) {
    if (failure.cause != StepFailure::Cause::kOperator) fail_for_limits(failure.message);
    native.run.exception = failure.message;
    wide.run.exception = failure.message;
    return;
  }
  native.outputs = output_tensors(program, native_values, output_names);
  if (!is_wanted || !wide.run.no_oracle.empty()) return;
  wide.outputs = output_tensors(program, wide_values, output_names);
  for (std::size_t i = 0; i < wide.outputs.size(); ++i) {
    wide.outputs[i] = restrided(wide.outputs[i], native.outputs[i].strides());
  }
}

// Enough draws that an element with a wide true spread is hardly ever given a narrow one: all
// twelve within a quarter of a standard deviation happen three times in a billion elements.
constexpr std::uint64_t kDraws = 12;

// Float64 values of an output, complex ones as pairs.
at::Tensor as_numbers(const at::Tensor& tensor) {
  if (!tensor.is_complex()) return tensor.to(at::kDouble);
  return at::view_as_real(tensor.to(at::kComplexDouble).resolve_conj());
}

void FragmentProgram::State::draw(const CallRecord& call, const Arena& inputs, Decisions decisions,
                                  Progress* progress, const SampleVisitor& visit) const {
  CallInputs native_inputs(fragment, call, inputs);
  Environment native(program, call.symbols);
  native_inputs.bind(program, native, nullptr);
  const NativeResults results = run_for_decisions(program, native, progress);
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) {
    CallInputs own_inputs(fragment, call, inputs);
    Environment environment(program, call.symbols);
    own_inputs.bind(program, environment, nullptr);
    run_disturbed(program, environment, results, decisions, seed, progress);
    visit(output_tensors(program, environment, output_names));
  }
}

Computed FragmentProgram::State::compute_envelope(const CallRecord& call, const Arena& inputs,
                                                  const Computed& exact, Progress* progress) const {
  Computed computed;
  if (exact.outputs.empty()) {
    computed.run.no_oracle = "there is no float64 run to have an envelope";
    return computed;
  }
  std::vector<at::Tensor> centres;
  for (const at::Tensor& output : exact.outputs) {
    centres.push_back(as_numbers(output));
    computed.outputs.push_back(at::zeros_like(centres.back()));
  }
  draw(call, inputs, Decisions::kPinned, progress, [&](const std::vector<at::Tensor>& sample) {
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const at::Tensor distance = as_numbers(sample[i]).sub(centres[i]).abs();
      // A sample that overflowed says nothing about finite values.
      const at::Tensor finite = at::where(distance.isfinite(), distance, 0.0);
      computed.outputs[i] = computed.outputs[i].maximum(finite);
    }
  });
  return computed;
}

Computed FragmentProgram::State::compute_span(const CallRecord& call, const Arena& inputs,
                                              Progress* progress) const {
  Computed computed;
  std::vector<at::Tensor>& spans = computed.outputs;
  const SampleVisitor widen = [&](const std::vector<at::Tensor>& sample) {
    if (spans.empty()) {
      for (const at::Tensor& output : sample) {
        spans.push_back(as_numbers(output));
        spans.push_back(as_numbers(output));
      }
    }
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const at::Tensor numbers = as_numbers(sample[i]);
      if (numbers.sizes() != spans[2 * i].sizes()) continue;  // of the free float64 run
      spans[2 * i] = spans[2 * i].fmin(numbers);
      spans[2 * i + 1] = spans[2 * i + 1].fmax(numbers);
    }
  };
  draw(call, inputs, Decisions::kFree, progress, widen);
  CallInputs own_inputs(fragment, call, inputs);
  Environment native(program, call.symbols);
  Environment wide(program, call.symbols);
  own_inputs.bind(program, native, &wide);
  try {
    run_free_in_float64(program, wide, progress);
    widen(output_tensors(program, wide, output_names));
  } catch (const StepFailure& failure) {
    if (failure.cause == StepFailure::Cause::kOutOfMemory) throw;
    // A program without a free float64 run has the span of its disturbed runs.
  }
  return computed;
}

Computed FragmentProgram::State::spread(ReferenceMode mode, const CallRecord& call,
                                        const Arena& inputs, const Computed& exact,
                                        Progress* progress) const {
  try {
    return mode == ReferenceMode::kEnvelope ? compute_envelope(call, inputs, exact, progress)
                                            : compute_span(call, inputs, progress);
  } catch (const StepFailure& failure) {
    if (failure.cause == StepFailure::Cause::kOutOfMemory) fail_for_limits(failure.message);
    Computed failed;
    failed.run.exception = failure.message;
    return failed;
  }
}

ReferenceResult FragmentProgram::State::run(const CallRecord& call, const Arena& inputs,
                                            const std::vector<ReferenceMode>& modes,
                                            Progress* progress) const {
  const MachineState machine(call.threads, call.mxcsr);
  const at::AutoGradMode grad_mode(call.grad_mode);
  // What no_grad and inference_mode come down to for tensors that need no gradient; results are the
  // same bits, and each call is spared two dispatches.
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  CallInputs call_inputs(fragment, call, inputs);
  const auto is_wanted = [&](ReferenceMode mode) {
    return std::find(modes.begin(), modes.end(), mode) != modes.end();
  };
  const bool needs_float64 =
      is_wanted(ReferenceMode::kFloat64) || is_wanted(ReferenceMode::kEnvelope);
  Opinions opinions;
  if (is_wanted(ReferenceMode::kNative) || needs_float64) {
    compute(call_inputs, call, needs_float64 ? Float64::kWanted : Float64::kNotWanted, progress,
            opinions);
  }
  std::deque<Computed> spreads;
  std::vector<const Computed*> wanted;
  for (const ReferenceMode mode : modes) {
    switch (mode) {
      case ReferenceMode::kNative: wanted.push_back(&opinions.native); continue;
      case ReferenceMode::kFloat64: wanted.push_back(&opinions.wide); continue;
      case ReferenceMode::kEnvelope:
      case ReferenceMode::kSpan: break;
    }
    spreads.push_back(spread(mode, call, inputs, opinions.wide, progress));
    wanted.push_back(&spreads.back());
  }
  return copied_to_arena(wanted);
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
