#include "check/opinions.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "fragment/narrowed.h"

namespace fuseproof {

Opinions::Opinions(const Fragment& fragment, const CallRecord& call, const Arena& inputs,
                   ReferenceRunner& reference)
    : fragment_(fragment),
      call_(call),
      inputs_(inputs),
      reference_(reference),
      has_fx_(!outputs_from(fragment, OutputSource::kFx).empty()),
      has_loop_bodies_(!outputs_from(fragment, OutputSource::kLoopBody).empty()) {}

std::string Opinions::exception() { return has_fx_ ? native_result().runs.at(0).exception : ""; }

std::string Opinions::problem(std::size_t output) {
  const std::string& exception = of(output, ReferenceMode::kNative).run().exception;
  return exception.empty() ? "" : "its loop body cannot be run: " + exception;
}

std::vector<PythonNode> Opinions::python_nodes() { return native_result().python_nodes; }

OutputSide Opinions::native(std::size_t output) {
  return of(output, ReferenceMode::kNative).side();
}

OutputSides::Exact Opinions::exact(std::size_t output) {
  const Opinion opinion = of(output, ReferenceMode::kFloat64);
  const ReferenceRun& run = opinion.run();
  if (!run.no_oracle.empty()) return {{}, run.no_oracle};
  if (!run.exception.empty()) return {{}, "the float64 run raises: " + run.exception};
  return {opinion.numbers(opinion.position), ""};
}

std::vector<double> Opinions::envelope(std::size_t output) {
  const Opinion opinion = of(output, ReferenceMode::kEnvelope);
  if (!opinion.run().exception.empty() || !opinion.run().no_oracle.empty()) return {};
  return opinion.numbers(opinion.position);
}

OutputSides::FreeSpan Opinions::span(std::size_t output) {
  const Opinion opinion = of(output, ReferenceMode::kSpan);
  if (!opinion.run().exception.empty()) return {};
  return {opinion.numbers(2 * opinion.position), opinion.numbers(2 * opinion.position + 1)};
}

std::vector<OutputSide> Opinions::unrounded(std::size_t output) {
  const Opinion opinion = of(output, ReferenceMode::kUnrounded);
  if (!opinion.run().exception.empty()) return {};
  return {opinion.side(2 * opinion.position), opinion.side(2 * opinion.position + 1)};
}

OutputSides::Open Opinions::open(std::size_t output) {
  const Opinion opinion = of(output, ReferenceMode::kOpen);
  const ReferenceRun& run = opinion.run();
  if (!run.exception.empty() || run.sentences.empty()) return {};
  return {opinion.side().packed, run.sentences};
}

OutputSide Opinions::Opinion::side(std::size_t index) const {
  const ReferenceOutput& output = run().outputs.at(index);
  return {output.layout, gather(result->arena->storage(output.storage), output.layout)};
}

// Of a float64 output.
std::vector<double> Opinions::Opinion::numbers(std::size_t index) const {
  const OutputSide values = side(index);
  std::vector<double> numbers(values.packed.size() / sizeof(double));
  std::memcpy(numbers.data(), values.packed.data(), numbers.size() * sizeof(double));
  return numbers;
}

Opinions::Opinion Opinions::of(std::size_t output, ReferenceMode mode) {
  const Part part = part_of(output, mode);
  const std::vector<FragmentOutput>& outputs = fragment_of(part).outputs;
  const auto position =
      std::count_if(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(output),
                    [](const FragmentOutput& before) { return before.is_checked(); });
  return {&result(part, mode), static_cast<std::size_t>(position)};
}

bool Opinions::is_split(ReferenceMode mode) {
  if (!has_loop_bodies_) return false;
  const ReferenceRun& whole = result(kWhole, mode).runs.at(0);
  return !whole.exception.empty() || !whole.no_oracle.empty();
}

Opinions::Part Opinions::part_of(std::size_t output, ReferenceMode mode) {
  if (!is_split(mode)) return kWhole;
  const bool is_fx = fragment_.outputs.at(output).source == OutputSource::kFx;
  return is_fx ? kFxPart : kLoopParts + output;
}

const Fragment& Opinions::fragment_of(Part part) {
  if (part == kWhole) return fragment_;
  if (const auto known = parts_.find(part); known != parts_.end()) return known->second;
  const std::set<std::size_t> kept =
      part == kFxPart ? outputs_from(fragment_, OutputSource::kFx) : std::set{part - kLoopParts};
  return parts_.emplace(part, narrowed(fragment_, kept)).first->second;
}

const ReferenceResult& Opinions::result(Part part, ReferenceMode mode) {
  const auto known = results_.find({part, mode});
  if (known != results_.end()) return known->second;
  return results_.emplace(std::pair{part, mode}, run(part, mode)).first->second;
}

// A loop body can be to blame for what the reference cannot run, and for nothing else.
ReferenceResult Opinions::run(Part part, ReferenceMode mode) {
  try {
    return reference_.run(fragment_of(part), call_, inputs_, {mode});
  } catch (const Error& error) {
    const bool can_be_loop_body = has_loop_bodies_ && part != kFxPart;
    if (!can_be_loop_body || error.kind() != ErrorKind::kUnsupported) throw;
    ReferenceResult failed;
    failed.runs.resize(1);
    failed.runs[0].exception = error.what();
    return failed;
  }
}

const ReferenceResult& Opinions::native_result() {
  const bool is_part = has_fx_ && is_split(ReferenceMode::kNative);
  return result(is_part ? kFxPart : kWhole, ReferenceMode::kNative);
}

}  // namespace fuseproof
