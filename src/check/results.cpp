#include "check/results.h"

#include <fmt/format.h>

namespace fuseproof {
namespace {

Json output_to_json(const OutputResult& output) {
  Json json = {{"argument", output.argument},
               {"buffer", output.buffer},
               {"node", output.node},
               {"source", output.source},
               {"layout", output.layout},
               {"verdict", verdict_info(output.judgement.verdict).name},
               {"difference", difference_name(output.judgement.difference)},
               {"message", output.judgement.message}};
  if (!output.worst_index.empty()) {
    json["worst"] = {{"index", output.worst_index},
                     {"kernel", output.kernel_value},
                     {"eager", output.eager_value},
                     {"float64", output.exact_value}};
  }
  if (output.kernel_error) json["kernel_error"] = float_to_json(*output.kernel_error);
  if (output.eager_error) json["eager_error"] = float_to_json(*output.eager_error);
  if (output.minimum_tolerance) {
    json["minimum_tolerance"] = {{"atol", float_to_json(output.minimum_tolerance->absolute)},
                                 {"rtol", float_to_json(output.minimum_tolerance->relative)}};
  }
  if (!output.cann_line.empty()) json["cann"] = output.cann_line;
  return json;
}

}  // namespace

const OutputResult* SiteResult::worst_output() const {
  const OutputResult* worst_so_far = nullptr;
  for (const OutputResult& output : outputs) {
    if (output.judgement.verdict != verdict) continue;
    if (worst_so_far == nullptr) worst_so_far = &output;
    if (output.kernel_error && worst_so_far->kernel_error &&
        *output.kernel_error > *worst_so_far->kernel_error) {
      worst_so_far = &output;
    }
  }
  return worst_so_far;
}

std::set<std::string> SiteResult::faults() const {
  std::set<std::string> found = faults_of_other_calls;
  const auto add = [&](Verdict what, DifferenceKind kind, const std::string& argument) {
    if (verdict_info(what).verdict_class != VerdictClass::kFinding) return;
    found.insert(fmt::format("{} {} {}", verdict_info(what).name, difference_name(kind), argument));
  };
  const OutputResult* deciding = worst_output();
  add(verdict, difference, deciding == nullptr ? "" : deciding->argument);
  for (const OutputResult& output : outputs) {
    add(output.judgement.verdict, output.judgement.difference, output.argument);
  }
  return found;
}

bool SiteResult::is_finding() const {
  return !error && verdict_info(verdict).verdict_class == VerdictClass::kFinding;
}

int exit_status(const std::vector<SiteResult>& results) {
  std::vector<Verdict> verdicts;
  bool has_internal_error = false;
  bool has_known = false;
  for (const SiteResult& result : results) {
    has_known |= result.is_known;
    if (result.error && error_kind_info(*result.error).exit_status == 2) return 2;
    has_internal_error |= result.error.has_value();
    if (!result.error && !result.is_known) verdicts.push_back(result.verdict);
  }
  if (has_internal_error) return 3;
  const int status = exit_status(verdicts);
  constexpr int kNothingChecked = 3;
  return status == kNothingChecked && has_known ? 0 : status;
}

Json to_json(const SiteResult& result) {
  Json outputs = Json::array();
  for (const OutputResult& output : result.outputs) outputs.push_back(output_to_json(output));
  Json python_nodes = Json::array();
  for (const auto& [node, target] : result.python_nodes) {
    python_nodes.push_back({{"node", node}, {"target", target}});
  }
  const OutputResult* deciding = result.worst_output();
  Json json = {{"site", result.address.site},
               {"process", result.address.process},
               {"kernel", result.kernel},
               {"stage", stage_name(result.stage)},
               {"verdict", verdict_info(result.verdict).name},
               {"difference", difference_name(result.difference)},
               {"known", result.is_known},
               {"faults", result.faults()},
               {"message", result.message},
               {"deciding_output", deciding == nullptr ? "" : deciding->argument},
               {"user_line", result.user_line},
               {"call", result.call},
               {"calls", result.calls},
               {"live_outputs", result.live_outputs},
               {"live_outputs_checked", result.live_outputs_checked},
               {"kernel_time_ns", result.kernel_time_ns},
               {"notes", result.notes},
               {"python_nodes", std::move(python_nodes)},
               {"outputs", std::move(outputs)}};
  if (result.error) json["error"] = error_kind_info(*result.error).name;
  return json;
}

}  // namespace fuseproof
