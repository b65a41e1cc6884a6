#include "check/call_check.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "base/error.h"
#include "check/image.h"
#include "check/kernel_trial.h"
#include "check/output_check.h"
#include "graph/op_kinds.h"

namespace fuseproof {
namespace {

std::string user_line(const SiteBundle& site) {
  // The last node of the fragment that came from a line of the user's: what the kernel ends in.
  for (auto node = site.fragment.graph.nodes.rbegin(); node != site.fragment.graph.nodes.rend();
       ++node) {
    if (node->source_file.empty()) continue;
    const std::string file = Path(node->source_file).filename().string();
    return fmt::format("{}:{}: {}", file, node->source_line, node->source_text);
  }
  return "";
}

// Ops that round to a float dtype on the way to `target`.
int rounding_ops(const Graph& graph, const std::string& target) {
  std::unordered_map<std::string, const Node*> by_name;
  for (const Node& node : graph.nodes) by_name[node.name] = &node;
  std::unordered_set<std::string> seen;
  std::vector<std::string> pending = {target};
  int count = 0;
  while (!pending.empty()) {
    const std::string name = pending.back();
    pending.pop_back();
    const auto found = by_name.find(name);
    if (found == by_name.end() || !seen.insert(name).second) continue;
    const Node& node = *found->second;
    const bool is_float = std::any_of(
        node.values.begin(), node.values.end(),
        [](const auto& value) { return value && dtype_significand_bits(value->dtype) > 0; });
    if (node.kind == NodeKind::kCall && is_float && rounds(node.target)) ++count;
    for_each_node_ref(node, [&](const NodeRef& ref) { pending.push_back(ref.name); });
  }
  return count;
}

// One check of one call. Holds what its steps share.
class CallCheck {
 public:
  CallCheck(const RunReader& run, const SiteBundle& site, std::int64_t index, KernelRunner& kernels,
            ReferenceRunner& reference, const CheckSettings& settings)
      : site_(site),
        call_(run.read_call(site, index)),
        image_(run, site, call_),
        kernels_(kernels),
        reference_(reference),
        settings_(settings) {
    result_.address = site.address;
    result_.kernel = site.spec.kernel;
    result_.user_line = user_line(site);
    result_.call = index;
  }

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
    const Trial trial = try_kernel(site_, call_, image_, kernels_, settings_.limits, arena);
    result_.kernel_time_ns = trial.time_ns;
    result_.notes = trial.notes;
    if (trial.misconduct) {
      return settle(trial.misconduct->verdict, trial.misconduct->message,
                    trial.misconduct->difference);
    }
    if (!has_reference) {
      return settle(Verdict::kNotChecked, "no reference: " + site_.fragment.failure);
    }
    if (!trial.exception.empty() || !eager().exception.empty()) {
      return judge_exceptions(trial.exception, eager().exception);
    }
    judge_outputs(arena);
    return std::move(result_);
  }

 private:
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
    native_ = reference_.run(site_.fragment, call_, *inputs_, {ReferenceMode::kNative});
  }

  const ReferenceRun& eager() const { return native_.runs.at(0); }

  // The types of the two exceptions may differ; that both sides raise is what matters.
  SiteResult judge_exceptions(const std::string& kernel, const std::string& fragment) {
    if (kernel.empty()) {
      return settle(Verdict::kKernelWrong,
                    "the fragment raises and the kernel does not: " + fragment,
                    DifferenceKind::kException);
    }
    if (fragment.empty()) {
      return settle(Verdict::kKernelWrong, "the kernel raises and the fragment does not: " + kernel,
                    DifferenceKind::kException);
    }
    result_.notes.push_back(
        fmt::format("both sides raise; kernel: {}; fragment: {}", kernel, fragment));
    return settle(Verdict::kMatch, "");
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

  OutputSide kernel_side(const Arena& arena, const FragmentOutput& output) const {
    const CallArgument& argument = call_.arguments[static_cast<std::size_t>(output.argument)];
    OutputSide side;
    side.layout = layout_in_storage(argument, output.layout);
    side.packed = gather(arena.storage(static_cast<std::size_t>(argument.storage)), side.layout);
    return side;
  }

  static OutputSide reference_side(const ReferenceResult& result, const ReferenceOutput& output) {
    return {output.layout, gather(result.arena->storage(output.storage), output.layout)};
  }

  // The numbers of one float64 output of a reference run.
  static std::vector<double> numbers(const ReferenceResult& result, const ReferenceOutput& output) {
    const OutputSide side = reference_side(result, output);
    std::vector<double> values(side.packed.size() / sizeof(double));
    std::memcpy(values.data(), side.packed.data(), values.size() * sizeof(double));
    return values;
  }

  // The float64 opinion on an output, and the envelope round it. Run once for all outputs.
  OutputSides::Exact exact_values(std::size_t index) {
    if (!opinions_) {
      opinions_ = reference_.run(site_.fragment, call_, *inputs_,
                                 {ReferenceMode::kFloat64, ReferenceMode::kEnvelope});
    }
    const ReferenceRun& exact = opinions_->runs.at(0);
    const ReferenceRun& envelope = opinions_->runs.at(1);
    if (!exact.no_oracle.empty()) return {{}, {}, exact.no_oracle};
    if (!exact.exception.empty()) return {{}, {}, "the float64 run raises: " + exact.exception};
    OutputSides::Exact values;
    values.values = numbers(*opinions_, exact.outputs.at(index));
    if (envelope.exception.empty() && envelope.no_oracle.empty()) {
      values.envelope = numbers(*opinions_, envelope.outputs.at(index));
    }
    return values;
  }

  OutputSides::FreeSpan free_span(std::size_t index) {
    if (!span_) {
      span_ = reference_.run(site_.fragment, call_, *inputs_, {ReferenceMode::kSpan});
    }
    const ReferenceRun& run = span_->runs.at(0);
    if (!run.exception.empty()) return {};
    return {numbers(*span_, run.outputs.at(2 * index)),
            numbers(*span_, run.outputs.at(2 * index + 1))};
  }

  void judge_outputs(const Arena& arena) {
    std::vector<const FragmentOutput*> checked;
    for (const FragmentOutput& output : site_.fragment.outputs) {
      if (output.source == OutputSource::kFx) checked.push_back(&output);
    }
    std::vector<OutputSide> kernel_sides;
    std::vector<OutputSide> eager_sides;
    for (std::size_t i = 0; i < checked.size(); ++i) {
      kernel_sides.push_back(kernel_side(arena, *checked[i]));
      eager_sides.push_back(reference_side(native_, eager().outputs.at(i)));
    }
    for (std::size_t i = 0; i < checked.size(); ++i) {
      std::vector<Packed> others;
      for (std::size_t j = 0; j < checked.size(); ++j) {
        if (j != i) others.push_back(eager_sides[j].view());
      }
      const OutputSides sides{.kernel = std::move(kernel_sides[i]),
                              .eager = eager_sides[i],
                              .exact = [this, i] { return exact_values(i); },
                              .span = [this, i] { return free_span(i); },
                              .rounding_ops = rounding_ops(site_.fragment.graph, checked[i]->node)};
      OutputResult result = describe(*checked[i]);
      judge_output(sides, others, settings_, result);
      result_.outputs.push_back(std::move(result));
    }
    add_unchecked();
    combine();
  }

  void note_unchecked_live_outputs() {
    std::size_t live = 0;
    std::string reasons;
    std::size_t unchecked = 0;
    for (const FragmentOutput& output : site_.fragment.outputs) {
      live += output.is_live;
      if (!output.is_live || output.source == OutputSource::kFx) continue;
      ++unchecked;
      if (reasons.find(output.reason) == std::string::npos) {
        reasons += (reasons.empty() ? "" : "; ") + output.reason;
      }
    }
    if (unchecked == 0) return;
    result_.notes.push_back(
        fmt::format("{} of {} live outputs are not checked: {}", unchecked, live, reasons));
  }

  void add_unchecked() {
    note_unchecked_live_outputs();
    for (const FragmentOutput& output : site_.fragment.outputs) {
      if (output.source == OutputSource::kFx) continue;
      OutputResult result = describe(output);
      result.judgement.verdict = Verdict::kNotChecked;
      result.judgement.message = output.reason;
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
  ReferenceResult native_;
  std::optional<ReferenceResult> opinions_;  // float64 and envelope
  std::optional<ReferenceResult> span_;
};

}  // namespace

SiteResult check_call(const RunReader& run, const SiteBundle& site, std::int64_t call_index,
                      KernelRunner& kernels, ReferenceRunner& reference,
                      const CheckSettings& settings) {
  return CallCheck(run, site, call_index, kernels, reference, settings).run();
}

}  // namespace fuseproof
