#include "check/call_check.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "check/image.h"
#include "check/kernel_trial.h"
#include "check/opinions.h"
#include "check/output_check.h"
#include "check/rounding.h"
#include "fragment/narrowed.h"

namespace fuseproof {

std::string last_user_line(const Graph& graph) {
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    std::string line = user_line(*node);
    if (!line.empty()) return line;
  }
  return "";
}

namespace {

SiteResult described(const SiteBundle& site, std::int64_t call) {
  SiteResult result;
  result.address = site.address;
  result.kernel = site.spec.kernel;
  result.user_line = last_user_line(site.fragment.graph);
  result.call = call;
  result.live_outputs = std::ranges::count_if(site.fragment.outputs, &FragmentOutput::is_live);
  return result;
}

// Why the call's sizes are not known, if the fragment needs symbols of which the call record has no
// value; else "".
std::string missing_sizes(const Fragment& fragment, const CallRecord& call) {
  std::vector<std::string> missing;
  for (const std::string& symbol : symbols_of(fragment)) {
    if (!call.symbols.contains(symbol)) missing.push_back(symbol);
  }
  if (missing.empty()) return "";
  return fmt::format(
      "its sizes depend on {}, of which the call record has no value: neither the graph's inputs "
      "nor the kernel's arguments give it",
      fmt::join(missing, ", "));
}

// Without the loop bodies whose sizes are not known: they must not cost the other outputs a check.
Fragment without_unknown_sizes(const Fragment& fragment, const CallRecord& call) {
  std::set<std::size_t> kept = outputs_from(fragment, OutputSource::kFx);
  std::map<std::size_t, std::string> reasons;
  for (const std::size_t output : outputs_from(fragment, OutputSource::kLoopBody)) {
    std::string reason = missing_sizes(narrowed(fragment, {output}), call);
    if (reason.empty()) {
      kept.insert(output);
    } else {
      reasons[output] = std::move(reason);
    }
  }
  Fragment result = narrowed(fragment, kept);
  for (auto& [output, reason] : reasons) result.outputs[output].reason = std::move(reason);
  return result;
}

// One check of one call. Holds what its steps share.
class CallCheck {
 public:
  CallCheck(const RunReader& run, const SiteBundle& site, CallRecord call, KernelRunner& kernels,
            ReferenceRunner& reference, const CheckSettings& settings)
      : site_(site),
        call_(std::move(call)),
        image_(run, site, call_),
        kernels_(kernels),
        reference_(reference),
        settings_(settings),
        result_(described(site, call_.index)) {}

  SiteResult run() {
    if (!image_.missing_inputs().empty()) {
      return settle(Verdict::kNotChecked,
                    image_.missing_inputs() == "budget"
                        ? "its inputs are beyond the byte budget of the capture"
                        : "its inputs were recorded as layouts only (inputs=\"layout\")");
    }
    const bool has_reference = site_.fragment.failure.empty();
    if (has_reference) run_fragment();
    Arena arena = Arena::create(image_.requests());
    Trial trial = try_kernel(site_, call_, image_, kernels_, settings_.limits, arena);
    result_.kernel_time_ns = trial.time_ns;
    result_.notes = trial.notes;
    note_python_nodes();
    if (trial.misconduct) {
      return settle(trial.misconduct->verdict, trial.misconduct->message,
                    trial.misconduct->difference);
    }
    if (!has_reference) {
      if (!trial.other_runs.empty()) return settle_unrepeated(trial.other_runs);
      return settle(Verdict::kNotChecked, "no reference: " + site_.fragment.failure);
    }
    const std::string exception = opinions_->exception();
    if (exception.empty()) part_outputs();
    if (!trial.exception.empty() || !exception.empty()) {
      return judge_exceptions(trial.exception, exception);
    }
    judge_outputs(arena, trial.other_runs);
    if (!trial.other_runs.empty()) return settle_unrepeated(trial.other_runs);
    return std::move(result_);
  }

 private:
  using OtherRuns = std::map<std::size_t, OtherRun>;

  // For differences between runs that no judged output shows. A graver finding stays the news.
  SiteResult settle_unrepeated(const OtherRuns& other_runs) {
    const std::string& message = other_runs.begin()->second.message;
    if (worse(result_.verdict, Verdict::kNondeterministic) == Verdict::kNondeterministic) {
      return settle(Verdict::kNondeterministic, message);
    }
    result_.notes.push_back(message);
    return std::move(result_);
  }

  SiteResult settle(Verdict verdict, std::string message,
                    DifferenceKind difference = DifferenceKind::kNone) {
    result_.verdict = verdict;
    result_.stage = verdict_stage(verdict, Stage::kNone);
    result_.message = std::move(message);
    result_.difference = difference;
    return std::move(result_);
  }

  void run_fragment() {
    inputs_.emplace(Arena::create(image_.requests()));
    image_.fill_inputs(*inputs_);
    opinions_.emplace(site_.fragment, call_, *inputs_, reference_);
    result_.python_nodes = opinions_->python_nodes();
  }

  void note_python_nodes() {
    if (result_.python_nodes.empty()) return;
    std::set<std::string> targets;
    for (const PythonNode& node : result_.python_nodes) targets.insert(node.target);
    result_.notes.push_back(fmt::format("the reference ran {} of {} nodes in Python: {}",
                                        result_.python_nodes.size(), call_count(),
                                        fmt::join(targets, ", ")));
  }

  std::ptrdiff_t call_count() const {
    return std::count_if(site_.fragment.graph.nodes.begin(), site_.fragment.graph.nodes.end(),
                         [](const Node& node) { return node.kind == NodeKind::kCall; });
  }

  // The types of the two exceptions may differ; that both sides raise is what matters.
  SiteResult judge_exceptions(const std::string& kernel, const std::string& fragment) {
    if (kernel.empty()) {
      return settle(Verdict::kKernelWrong,
                    "the fragment raises and the kernel does not: " + fragment,
                    DifferenceKind::kException);
    }
    if (fragment.empty() && !is_all_of_fx()) {
      return settle(Verdict::kNotChecked,
                    "the kernel raises, and it may do so where no FX value of its fragment stands "
                    "for what it computes: " +
                        kernel);
    }
    if (fragment.empty()) {
      return settle(Verdict::kKernelWrong, "the kernel raises and the fragment does not: " + kernel,
                    DifferenceKind::kException);
    }
    result_.notes.push_back(
        fmt::format("both sides raise; kernel: {}; fragment: {}", kernel, fragment));
    result_.live_outputs_checked = result_.live_outputs;  // neither side has any
    return settle(Verdict::kMatch, "");
  }

  bool is_all_of_fx() const {
    const std::vector<FragmentOutput>& outputs = site_.fragment.outputs;
    return std::ranges::all_of(
        outputs, [](const FragmentOutput& output) { return output.source == OutputSource::kFx; });
  }

  OutputResult describe(const FragmentOutput& output) const {
    OutputResult result;
    result.argument = site_.spec.arguments[static_cast<std::size_t>(output.argument)].name;
    result.buffer = output.buffer;
    result.node = output.node;
    constexpr const char* kSources[] = {"fx", "loop_body", "unchecked"};
    result.source = kSources[static_cast<std::size_t>(output.source)];
    return result;
  }

  std::size_t storage_of(const FragmentOutput& output) const {
    const auto argument = static_cast<std::size_t>(output.argument);
    return static_cast<std::size_t>(call_.arguments[argument].storage);
  }

  OutputSide kernel_side(std::span<const std::byte> storage, const FragmentOutput& output) const {
    OutputSide side;
    side.layout = layout_of_output(call_, output);
    side.packed = gather(storage, side.layout);
    return side;
  }

  // Parts the outputs into those that can be judged and those that cannot, with the reason.
  void part_outputs() {
    const std::vector<FragmentOutput>& outputs = site_.fragment.outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].is_checked()) {
        unchecked_[i] = outputs[i].reason;
        continue;
      }
      std::string problem = opinions_->problem(i);
      if (problem.empty()) {
        checked_.push_back(i);
      } else {
        unchecked_[i] = std::move(problem);
      }
    }
  }

  OutputSides sides_of(std::size_t output, OutputSide kernel, const OutputSide& eager) {
    const FragmentOutput& bound = site_.fragment.outputs[output];
    const Rounding rounding = rounding_before(site_.fragment.graph, bound.node);
    return {.kernel = std::move(kernel),
            .eager = eager,
            .exact = [=, this] { return opinions_->exact(output); },
            .envelope = [=, this] { return opinions_->envelope(output); },
            .span = [=, this] { return opinions_->span(output); },
            .unrounded = [=, this] { return opinions_->unrounded(output); },
            .open = [=, this] { return opinions_->open(output); },
            .rounding_ops = rounding.ops,
            .noise_bits = rounding.coarsest_bits,
            .rounds_to_half_between = rounding.is_half_between,
            .accumulates_in_open_order = rounding.accumulates_in_open_order};
  }

  // Takes what it could judge out of `other_runs`.
  void judge_outputs(const Arena& arena, OtherRuns& other_runs) {
    std::vector<OutputSide> eager_sides;
    for (const std::size_t output : checked_) eager_sides.push_back(opinions_->native(output));
    std::set<std::size_t> judged_storages;
    for (std::size_t i = 0; i < checked_.size(); ++i) {
      std::vector<Packed> others;
      for (std::size_t j = 0; j < checked_.size(); ++j) {
        if (j != i) others.push_back(eager_sides[j].view());
      }
      const FragmentOutput& bound = site_.fragment.outputs[checked_[i]];
      const std::size_t storage = storage_of(bound);
      const OutputSides sides =
          sides_of(checked_[i], kernel_side(arena.storage(storage), bound), eager_sides[i]);
      OutputResult result = describe(bound);
      judge_output(sides, others, settings_, result);
      const auto other_run = other_runs.find(storage);
      if (other_run != other_runs.end()) {
        const OutputSide other = kernel_side(other_run->second.bytes, bound);
        if (other.packed != sides.kernel.packed) {
          judge_other_run(sides, other, other_run->second.message, others, settings_, result);
          judged_storages.insert(storage);
        }
      }
      result_.outputs.push_back(std::move(result));
    }
    for (const std::size_t storage : judged_storages) other_runs.erase(storage);
    add_unchecked();
    combine();
  }

  void note_unchecked_live_outputs() {
    std::string reasons;
    std::int64_t unchecked = 0;
    for (const auto& [index, reason] : unchecked_) {
      if (!site_.fragment.outputs[index].is_live) continue;
      ++unchecked;
      if (reasons.find(reason) == std::string::npos) {
        reasons += (reasons.empty() ? "" : "; ") + reason;
      }
    }
    result_.live_outputs_checked = result_.live_outputs - unchecked;
    if (unchecked == 0) return;
    result_.notes.push_back(fmt::format("{} of {} live outputs are not checked: {}", unchecked,
                                        result_.live_outputs, reasons));
  }

  void note_loop_bodies() {
    const std::vector<FragmentOutput>& outputs = site_.fragment.outputs;
    const auto count = std::ranges::count_if(checked_, [&](std::size_t index) {
      return outputs[index].source == OutputSource::kLoopBody;
    });
    if (count == 0) return;
    result_.notes.push_back(fmt::format(
        "{} of {} outputs are checked against Inductor's own loop bodies, which do not show a "
        "fault of the lowering",
        count, outputs.size()));
  }

  void add_unchecked() {
    note_loop_bodies();
    note_unchecked_live_outputs();
    for (const auto& [index, reason] : unchecked_) {
      OutputResult result = describe(site_.fragment.outputs[index]);
      result.judgement.verdict = Verdict::kNotChecked;
      result.judgement.message = reason;
      result_.outputs.push_back(std::move(result));
    }
  }

  void combine() {
    result_.verdict = Verdict::kNotChecked;
    for (const OutputResult& output : result_.outputs) {
      result_.verdict = worse(result_.verdict, output.judgement.verdict);
    }
    const OutputResult* deciding = result_.worst_output();
    result_.difference = deciding->judgement.difference;
    result_.message = deciding->judgement.message;
    result_.stage = verdict_stage(result_.verdict, Stage::kKernel);
  }

  const SiteBundle& site_;
  CallRecord call_;
  CallImage image_;
  KernelRunner& kernels_;
  ReferenceRunner& reference_;
  const CheckSettings& settings_;
  SiteResult result_;
  std::optional<Arena> inputs_;
  std::optional<Opinions> opinions_;
  // Indices into the fragment's outputs.
  std::vector<std::size_t> checked_;
  std::map<std::size_t, std::string> unchecked_;  // and why
};

}  // namespace

SiteResult check_call(const RunReader& run, const SiteBundle& site, std::int64_t call_index,
                      KernelRunner& kernels, ReferenceRunner& reference,
                      const CheckSettings& settings) {
  CallRecord call = run.read_call(site, call_index);
  if (missing_sizes(site.fragment, call).empty()) {
    return CallCheck(run, site, std::move(call), kernels, reference, settings).run();
  }
  SiteBundle known = site;
  known.fragment = without_unknown_sizes(site.fragment, call);
  if (std::string missing = missing_sizes(known.fragment, call); !missing.empty()) {
    SiteResult result = described(site, call_index);
    result.message = std::move(missing);
    return result;
  }
  return CallCheck(run, known, std::move(call), kernels, reference, settings).run();
}

}  // namespace fuseproof
