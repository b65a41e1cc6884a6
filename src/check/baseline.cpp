#include "check/baseline.h"

#include <algorithm>
#include <cstdint>
#include <list>
#include <optional>
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

bool is_finding(const JsonObject& result) {
  const std::string name = result.string("verdict");
  const std::optional<Verdict> verdict = verdict_from_name(name);
  if (!verdict) result.fail("verdict", fmt::format("\"{}\" is no verdict", name));
  return verdict_info(*verdict).verdict_class == VerdictClass::kFinding;
}

enum class Fit : std::uint8_t { kEqual, kCovered };

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
  const std::vector<std::string> faults = result.strings("faults");
  return {without_number(result.string("kernel")),
          without_place(result.string("user_line")),
          {faults.begin(), faults.end()}};
}

bool Baseline::Entry::covers(const Entry& found) const {
  return kernel == found.kernel && line == found.line &&
         std::ranges::includes(faults, found.faults);
}

// Those that a baseline has as they are come first, so that no wider entry is spent on them.
std::size_t Baseline::mark_known(std::vector<SiteResult>& results) const {
  std::list<Entry> unmet(entries_.begin(), entries_.end());
  unmet.sort([](const Entry& a, const Entry& b) { return a.faults.size() < b.faults.size(); });
  for (const Fit fit : {Fit::kEqual, Fit::kCovered}) {
    for (SiteResult& result : results) {
      if (!result.is_finding() || result.is_known) continue;
      const Entry found{without_number(result.kernel), without_place(result.user_line),
                        result.faults()};
      const auto known = std::ranges::find_if(unmet, [&](const Entry& entry) {
        return entry.covers(found) && (fit == Fit::kCovered || entry.faults == found.faults);
      });
      if (known == unmet.end()) continue;
      result.is_known = true;
      unmet.erase(known);
    }
  }
  return unmet.size();
}

}  // namespace fuseproof
