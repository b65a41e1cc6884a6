#include "check/baseline.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace fuseproof {
namespace {

// "cpp_fused_add_relu_12" → "cpp_fused_add_relu".
std::string without_number(std::string name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  if (end != std::string::npos && end + 1 < name.size() && name[end] == '_') name.resize(end);
  return name;
}

// "model.py:12: x = torch.relu(x + y)" → "x = torch.relu(x + y)".
std::string without_place(const std::string& line) {
  const std::size_t end = line.find(": ");
  return end == std::string::npos ? line : line.substr(end + 2);
}

bool is_finding(const JsonObject& judged) {
  const std::string name = judged.string("verdict");
  const std::optional<Verdict> verdict = verdict_from_name(name);
  if (!verdict) judged.fail("verdict", fmt::format("\"{}\" is no verdict", name));
  return verdict_info(*verdict).verdict_class == VerdictClass::kFinding;
}

std::string fault(const JsonObject& judged, const std::string& output) {
  return fmt::format("{} {} {}", judged.string("verdict"), judged.string("difference"), output);
}

}  // namespace

Baseline::Baseline(const Json& document, const std::string& where) {
  const JsonObject root(document, where);
  if (!root.has("results")) {
    root.fail("results", "absent; a baseline is what `fuseproof check RUN --json` prints");
  }
  for (const JsonObject& result : root.objects("results")) {
    if (!result.has("error") && is_finding(result)) entries_.push_back(entry_of(result));
  }
}

Baseline Baseline::read(FileSystem& files, const Path& path) {
  return Baseline(parse_json(files.read_text(path), path.string()), path.string());
}

Baseline::Entry Baseline::entry_of(const JsonObject& result) {
  Entry entry;
  entry.kernel = without_number(result.string("kernel"));
  entry.line = without_place(result.string("user_line"));
  entry.faults.insert(fault(result, result.string("deciding_output")));
  for (const JsonObject& output : result.objects("outputs")) {
    if (is_finding(output)) entry.faults.insert(fault(output, output.string("argument")));
  }
  return entry;
}

std::size_t Baseline::mark_known(std::vector<SiteResult>& results) const {
  std::vector<const Entry*> unmet;
  for (const Entry& entry : entries_) unmet.push_back(&entry);
  for (SiteResult& result : results) {
    if (!result.is_finding()) continue;
    const Json json = to_json(result);
    const Entry found = entry_of(JsonObject(json, result.address.site));
    const auto known = std::ranges::find_if(unmet, [&](const Entry* entry) {
      return entry->kernel == found.kernel && entry->line == found.line &&
             std::ranges::includes(entry->faults, found.faults);
    });
    if (known == unmet.end()) continue;
    result.is_known = true;
    unmet.erase(known);
  }
  return unmet.size();
}

}  // namespace fuseproof
