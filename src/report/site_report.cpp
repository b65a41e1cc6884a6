#include "report/site_report.h"

#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/plain_text.h"
#include "report/table.h"

namespace fuseproof {
namespace {

std::string values_text(const Node& node) {
  if (node.number) return node.number->expression;
  std::vector<std::string> parts;
  for (const auto& value : node.values) parts.push_back(value ? to_string(*value) : "None");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string node_table(const Graph& graph) {
  const std::vector<Column> columns = {{"USER'S LINE", Column::Align::kLeft, Column::Cut::kAllowed},
                                       {"FX NODE", Column::Align::kLeft, Column::Cut::kAllowed},
                                       {"VALUE", Column::Align::kLeft, Column::Cut::kNever}};
  std::vector<std::vector<std::string>> rows;
  std::string last_line;
  for (const Node& node : graph.nodes) {
    const std::string line = user_line(node);
    // A line that several nodes came from is written once.
    const std::string shown = line == last_line ? "" : line;
    last_line = line;
    const std::string text =
        node.kind == NodeKind::kCall ? to_string(node) : node.name + " (input)";
    rows.push_back({plain_text(shown), plain_text(text), values_text(node)});
  }
  return format_table(columns, rows);
}

std::string checked_by(const FragmentOutput& output) {
  switch (output.source) {
    case OutputSource::kFx: return output.node;
    case OutputSource::kLoopBody: return output.node + " (loop body)";
    case OutputSource::kUnchecked: break;
  }
  return "unchecked: " + output.reason;
}

std::string argument_table(const KernelSpec& spec, const Fragment& fragment) {
  const std::vector<Column> columns = {{"ARGUMENT", Column::Align::kLeft, Column::Cut::kNever},
                                       {"ROLE", Column::Align::kLeft, Column::Cut::kNever},
                                       {"TYPE", Column::Align::kLeft, Column::Cut::kNever},
                                       {"BUFFER", Column::Align::kLeft, Column::Cut::kNever},
                                       {"FX NODE", Column::Align::kLeft, Column::Cut::kAllowed}};
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < spec.arguments.size(); ++i) {
    const KernelArgument& argument = spec.arguments[i];
    std::vector<std::string> nodes;
    for (const FragmentInput& input : fragment.inputs) {
      if (input.argument == static_cast<std::int64_t>(i)) nodes.push_back(input.node);
    }
    for (const FragmentOutput& output : fragment.outputs) {
      if (output.argument != static_cast<std::int64_t>(i)) continue;
      nodes.push_back("-> " + checked_by(output));
    }
    rows.push_back({plain_text(argument.name), std::string(role_name(argument.role)),
                    plain_text(argument.type), plain_text(argument.value),
                    plain_text(fmt::format("{}", fmt::join(nodes, ", ")))});
  }
  return format_table(columns, rows);
}

std::string numbered(const std::string& source) {
  std::istringstream lines(source);
  std::string text;
  int number = 1;
  for (std::string line; std::getline(lines, line); ++number) {
    text += fmt::format("{:5}  {}\n", number, line);
  }
  return text;
}

std::string output_lines(const OutputResult& output) {
  std::string text = fmt::format("  {} ({}, {}) {}: {}", output.argument, output.buffer,
                                 output.node.empty() ? "no FX node" : output.node, output.layout,
                                 verdict_info(output.judgement.verdict).name);
  if (!output.judgement.message.empty()) text += ": " + output.judgement.message;
  text += "\n";
  if (output.worst_index.empty()) return text;
  text += fmt::format("    worst element {}: kernel {}, eager {}", output.worst_index,
                      output.kernel_value, output.eager_value);
  if (!output.exact_value.empty()) text += ", float64 " + output.exact_value;
  return text + "\n";
}

std::string verdict_lines(const SiteResult& result) {
  std::string text =
      fmt::format("verdict: {}", result.error ? "error" : verdict_info(result.verdict).name);
  if (!result.message.empty()) text += ": " + result.message;
  text += "\n";
  for (const OutputResult& output : result.outputs) text += output_lines(output);
  for (const std::string& note : result.notes) text += "  note: " + note + "\n";
  return text;
}

}  // namespace

std::string site_report_text(const SiteStory& story) {
  const SiteBundle& site = story.site;
  std::string text = fmt::format("{} ({})\n", site.spec.kernel, site.folder.string());
  if (story.result) text += "\n" + verdict_lines(*story.result);
  if (!site.fragment.failure.empty()) text += "\nno reference: " + site.fragment.failure + "\n";
  text += "\nuser's line -> FX nodes\n" + node_table(site.fragment.graph);
  text += "\narguments\n" + argument_table(site.spec, site.fragment);
  text += fmt::format("\n{}\n", (site.folder / site.spec.artifact.source_file).string());
  return plain_text(text + numbered(story.source));
}

Json site_report_json(const SiteStory& story) {
  Json json = {{"version", "1.0"},
               {"folder", story.site.folder.string()},
               {"spec", to_json(story.site.spec)},
               {"fragment", to_json(story.site.fragment)},
               {"source", story.source}};
  json["results"] = Json::array();
  if (story.result) json["results"].push_back(to_json(*story.result));
  return json;
}

}  // namespace fuseproof
