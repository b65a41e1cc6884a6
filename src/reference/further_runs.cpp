#include "reference/further_runs.h"

#include <functional>

#include <ATen/ops/view_as_real.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "reference/call_inputs.h"
#include "reference/float64_run.h"
#include "reference/open_results.h"
#include "reference/perturbed_run.h"
#include "reference/tensors.h"

namespace fuseproof {
namespace {

// Enough draws that an element with a wide true spread is hardly ever given a narrow one: all
// twelve within a quarter of a standard deviation happen three times in a billion elements.
constexpr std::uint64_t kDraws = 12;
// Draws of open results. In each of them an open element differs; that what is computed from it
// does not (a minimum, say) in any of them, hardly ever happens.
constexpr std::uint64_t kOpenDraws = 4;

// Float64 values of an output, complex ones as pairs.
at::Tensor as_numbers(const at::Tensor& tensor) {
  if (!tensor.is_complex()) return tensor.to(at::kDouble);
  return at::view_as_real(tensor.to(at::kComplexDouble).resolve_conj());
}

// Runs the fragment disturbed, kDraws times, and shows each one's outputs to the visitor.
using SampleVisitor = std::function<void(const std::vector<at::Tensor>&)>;
void draw(const FragmentRun& run, Decisions decisions, const SampleVisitor& visit) {
  CallInputs native_inputs(run.fragment, run.call, run.inputs);
  Environment native(run.program, run.call.symbols);
  native_inputs.bind(run.program, native);
  const NativeResults results = run_for_decisions(run.program, native, run.progress);
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) {
    CallInputs inputs(run.fragment, run.call, run.inputs);
    Environment environment(run.program, run.call.symbols);
    inputs.bind(run.program, environment);
    run_disturbed(run.program, environment, results, decisions, seed, run.progress);
    visit(output_tensors(run, environment));
  }
}

// Shows the outputs of a free float64 run to the visitor; a fragment that has none is passed over.
void draw_in_float64(const FragmentRun& run, const SampleVisitor& visit) {
  CallInputs inputs(run.fragment, run.call, run.inputs);
  Environment wide(run.program, run.call.symbols);
  inputs.bind_widened(run.program, wide, Widening::kFloat64);
  try {
    run_free(run.program, wide, Widening::kFloat64, {}, run.progress);
  } catch (const StepFailure& failure) {
    if (failure.cause == StepFailure::Cause::kOutOfMemory) throw;
    return;
  }
  visit(output_tensors(run, wide));
}

// The outputs for a time after the run, when inputs that it wrote to are gone.
std::vector<at::Tensor> own_outputs(const FragmentRun& run, const Environment& environment) {
  std::vector<at::Tensor> outputs = output_tensors(run, environment);
  for (at::Tensor& output : outputs) output = output.clone();
  return outputs;
}

// A run on the inputs as they are.
std::vector<at::Tensor> outputs_of(const FragmentRun& run, StepPolicy& policy) {
  CallInputs inputs(run.fragment, run.call, run.inputs);
  Environment environment(run.program, run.call.symbols);
  inputs.bind(run.program, environment);
  fuseproof::run(run.program, environment, policy, run.progress);
  return own_outputs(run, environment);
}

// With half precision kept in float32, but for what is to be rounded.
std::vector<at::Tensor> outputs_in_float32(const FragmentRun& run, const RoundedSlots& rounded) {
  CallInputs inputs(run.fragment, run.call, run.inputs);
  Environment wide(run.program, run.call.symbols);
  inputs.bind_widened(run.program, wide, Widening::kHalvesToFloat32);
  run_free(run.program, wide, Widening::kHalvesToFloat32, rounded, run.progress);
  return own_outputs(run, wide);
}

// The outputs in half precision, of a native run.
RoundedSlots slots_of_halves(const FragmentRun& run, const std::vector<at::Tensor>& native) {
  RoundedSlots slots;
  for (std::size_t i = 0; i < native.size(); ++i) {
    const at::ScalarType dtype = native[i].scalar_type();
    if (widened(dtype, Widening::kHalvesToFloat32) != dtype) slots[run.program.outputs[i]] = dtype;
  }
  return slots;
}

// Where the elements of two tensors differ; NaN equals NaN.
at::Tensor differs(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor both_nan = a.isnan().logical_and(b.isnan());
  return a.ne(b).logical_and(both_nan.logical_not());
}

}  // namespace

std::vector<at::Tensor> output_tensors(const FragmentRun& run, const Environment& environment) {
  std::vector<at::Tensor> tensors;
  for (std::size_t i = 0; i < run.output_names.size(); ++i) {
    tensors.push_back(environment.tensor(run.program.outputs[i], run.output_names[i]));
  }
  return tensors;
}

Computed compute_envelope(const FragmentRun& run, const std::vector<at::Tensor>& exact) {
  Computed computed;
  if (exact.empty()) {
    computed.run.no_oracle = "there is no float64 run to have an envelope";
    return computed;
  }
  std::vector<at::Tensor> centres;
  for (const at::Tensor& output : exact) {
    centres.push_back(as_numbers(output));
    computed.outputs.push_back(at::zeros_like(centres.back()));
  }
  draw(run, Decisions::kPinned, [&](const std::vector<at::Tensor>& sample) {
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const at::Tensor distance = as_numbers(sample[i]).sub(centres[i]).abs();
      // A sample that overflowed says nothing about finite values.
      const at::Tensor finite = at::where(distance.isfinite(), distance, 0.0);
      computed.outputs[i] = computed.outputs[i].maximum(finite);
    }
  });
  return computed;
}

Computed compute_span(const FragmentRun& run) {
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
  draw(run, Decisions::kFree, widen);
  draw_in_float64(run, widen);
  return computed;
}

Computed compute_unrounded(const FragmentRun& run) {
  NativePolicy policy;
  const std::vector<at::Tensor> native = outputs_of(run, policy);
  const std::vector<at::Tensor> free = outputs_in_float32(run, {});
  const std::vector<at::Tensor> stored = outputs_in_float32(run, slots_of_halves(run, native));
  Computed computed;
  for (std::size_t i = 0; i < native.size(); ++i) {
    computed.outputs.push_back(free[i].to(native[i].scalar_type()));
    computed.outputs.push_back(stored[i].to(native[i].scalar_type()));
  }
  return computed;
}

Computed compute_open(const FragmentRun& run) {
  NativePolicy native_policy;
  const std::vector<at::Tensor> native = outputs_of(run, native_policy);
  Computed computed;
  for (const at::Tensor& output : native) {
    computed.outputs.push_back(at::zeros_like(output, at::kBool));
  }
  for (std::uint64_t seed = 1; seed <= kOpenDraws; ++seed) {
    OpenResultsPolicy policy(seed);
    const std::vector<at::Tensor> drawn = outputs_of(run, policy);
    computed.run.sentences.assign(policy.sentences().begin(), policy.sentences().end());
    if (computed.run.sentences.empty()) return computed;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      computed.outputs[i] = computed.outputs[i].logical_or(differs(drawn[i], native[i]));
    }
  }
  return computed;
}

}  // namespace fuseproof
