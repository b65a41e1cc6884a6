#include "report/check_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/plain_text.h"
#include "report/table.h"

namespace fuseproof {
namespace {

std::string time_text(std::int64_t time_ns) {
  if (time_ns == 0) return "-";
  const auto time_us = static_cast<double>(time_ns) / 1e3;
  return time_us < 1e4 ? fmt::format("{:.1f} us", time_us)
                       : fmt::format("{:.1f} ms", time_us / 1e3);
}

std::string error_text(const std::optional<double>& error) {
  return error ? fmt::format("{:.2g}", *error) : "-";
}

// Something was found to be in order, and something else was not looked at.
bool passes_in_part(const SiteResult& result) {
  const VerdictClass kind = verdict_info(result.verdict).verdict_class;
  return !result.error && result.live_outputs_checked < result.live_outputs &&
         (kind == VerdictClass::kGood || kind == VerdictClass::kExplained);
}

std::string verdict_text(const SiteResult& result) {
  if (result.error) return "error";
  std::vector<std::string> remarks;
  if (result.difference != DifferenceKind::kNone) {
    remarks.emplace_back(difference_name(result.difference));
  }
  if (result.is_known) remarks.emplace_back("known");
  if (passes_in_part(result)) {
    remarks.push_back(
        fmt::format("{} of {} outputs", result.live_outputs_checked, result.live_outputs));
  }
  std::string text(verdict_info(result.verdict).name);
  if (!remarks.empty()) text += fmt::format(" ({})", fmt::join(remarks, "; "));
  return text;
}

// Which of its calls a result is about; numbered from 0, as their files are.
std::string call_text(const SiteResult& result) {
  return result.calls > 1 ? std::to_string(result.call) : "-";
}

// Cells hold one line of text without control characters.
std::string cell(std::string text) {
  for (char& character : text) {
    if (static_cast<unsigned char>(character) < 0x20) character = ' ';
  }
  return text;
}

std::vector<std::string> row(const SiteResult& result) {
  const OutputResult* worst = result.worst_output();
  const std::string number = result.address.site.substr(0, result.address.site.find('_'));
  return {number,
          cell(result.kernel),
          cell(result.user_line),
          verdict_text(result),
          worst == nullptr ? "-" : cell(worst->argument + " " + worst->layout),
          worst == nullptr ? "-" : error_text(worst->kernel_error),
          worst == nullptr ? "-" : error_text(worst->eager_error),
          time_text(result.kernel_time_ns)};
}

std::string table(const std::vector<SiteResult>& results) {
  using enum Column::Align;
  using enum Column::Cut;
  std::vector<Column> columns = {{"SITE", kRight, kNever},          {"KERNEL", kLeft, kAllowed},
                                 {"USER'S LINE", kLeft, kAllowed},  {"VERDICT", kLeft, kNever},
                                 {"WORST OUTPUT", kLeft, kAllowed}, {"KERNEL ERR", kRight, kNever},
                                 {"EAGER ERR", kRight, kNever},     {"COLD TIME", kRight, kNever}};
  std::vector<std::vector<std::string>> rows;
  for (const SiteResult& result : results) rows.push_back(row(result));
  const bool has_choice = std::any_of(results.begin(), results.end(),
                                      [](const SiteResult& result) { return result.calls > 1; });
  if (has_choice) {
    columns.push_back({"CALL", kRight, kNever});
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(call_text(results[i]));
  }
  return format_table(columns, rows);
}

bool needs_words(const SiteResult& result) {
  return result.verdict != Verdict::kMatch || !result.notes.empty();
}

std::string details(const SiteResult& result) {
  std::string text = fmt::format("\n{}: {}", result.address.site, verdict_text(result));
  if (result.calls > 1)
    text += fmt::format(" in calls/{}.json, one of {}", result.call, result.calls);
  if (!result.message.empty()) text += ": " + result.message;
  text += "\n";
  const OutputResult* worst = result.worst_output();
  if (worst != nullptr && !worst->worst_index.empty()) {
    text += fmt::format("  {} {} ({}) at {}: kernel {}, eager {}", worst->argument, worst->layout,
                        worst->node, worst->worst_index, worst->kernel_value, worst->eager_value);
    if (!worst->exact_value.empty()) text += ", float64 " + worst->exact_value;
    text += "\n";
  }
  if (worst != nullptr && worst->minimum_tolerance) {
    text += fmt::format("  would pass with atol={:.3g} or rtol={:.3g}\n",
                        worst->minimum_tolerance->absolute, worst->minimum_tolerance->relative);
  }
  if (!result.user_line.empty()) text += "  line: " + result.user_line + "\n";
  for (const std::string& note : result.notes) text += "  note: " + note + "\n";
  return text;
}

bool passes(const SiteResult& result) {
  const VerdictClass kind = verdict_info(result.verdict).verdict_class;
  return !result.error && kind != VerdictClass::kFinding && kind != VerdictClass::kInconclusive;
}

// Passed only where something was compared, and nothing was left open.
std::string cann_lines(const std::vector<SiteResult>& results) {
  std::string text;
  for (const SiteResult& result : results) {
    for (const OutputResult& output : result.outputs) {
      if (!output.cann_line.empty()) {
        text += fmt::format("{} {}\n", result.address.site, output.cann_line);
      }
    }
  }
  const bool all_pass = !text.empty() && std::all_of(results.begin(), results.end(), passes);
  return "\n" + text + (all_pass ? "Precision check passed.\n" : "Precision check failed.\n");
}

std::map<std::string, int> counts(const std::vector<SiteResult>& results) {
  std::map<std::string, int> count;
  for (const SiteResult& result : results) {
    ++count[result.error ? "error" : std::string(verdict_info(result.verdict).name)];
  }
  return count;
}

std::size_t known_findings(const std::vector<SiteResult>& results) {
  return static_cast<std::size_t>(std::ranges::count_if(results, &SiteResult::is_known));
}

std::string summary_line(const std::vector<SiteResult>& results, const CheckSummary& summary) {
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : counts(results)) {
    parts.push_back(fmt::format("{} {}", count, verdict));
  }
  std::string text =
      fmt::format("\n{} kernel{} in {:.1f} s: {}", results.size(), results.size() == 1 ? "" : "s",
                  summary.seconds, fmt::join(parts, ", "));
  const auto in_part = std::ranges::count_if(results, passes_in_part);
  if (in_part > 0) text += fmt::format("; {} of them with outputs that are not checked", in_part);
  if (summary.unmet_findings) {
    text += fmt::format("; {} of them known, {} findings of the baseline were not met",
                        known_findings(results), *summary.unmet_findings);
  }
  return text + "\n";
}

}  // namespace

std::string check_report_text(const std::vector<SiteResult>& results, const CheckSummary& summary) {
  std::string text = table(results);
  for (const SiteResult& result : results) {
    if (needs_words(result)) text += details(result);
  }
  text += summary_line(results, summary);
  if (summary.criteria == "cann") text += cann_lines(results);
  return plain_text(text);
}

Json check_report_json(const std::vector<SiteResult>& results, const CheckSummary& summary) {
  Json list = Json::array();
  for (const SiteResult& result : results) list.push_back(to_json(result));
  Json json = {
      {"version", "1.0"},
      {"run", summary.run},
      {"criteria", summary.criteria},
      {"stages", {{"kernel", "checked"}, {"external", "not_checked"}, {"graph", "not_checked"}}},
      {"results", std::move(list)},
      {"summary", counts(results)},
      {"capture", summary.capture},
      {"seconds", summary.seconds}};
  if (summary.unmet_findings) {
    json["baseline"] = {{"known", known_findings(results)}, {"unmet", *summary.unmet_findings}};
  }
  return json;
}

}  // namespace fuseproof
