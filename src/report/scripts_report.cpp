#include "report/scripts_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/plain_text.h"

namespace fuseproof {

std::string scripts_report_text(const std::vector<ScriptResult>& results) {
  std::string text;
  std::size_t written = 0;
  std::size_t unchecked = 0;
  for (const ScriptResult& result : results) {
    if (result.error) continue;
    ++written;
    unchecked += result.has_precision ? 0 : 1;
    text += fmt::format("{}{}\n", plain_text(result.script.string()),
                        result.has_precision ? "" : "  (without --check)");
  }
  text += fmt::format("{} script{} written", written, written == 1 ? "" : "s");
  if (unchecked > 0) text += fmt::format(", {} of them without an eager function", unchecked);
  if (written < results.size()) text += fmt::format(", {} failed", results.size() - written);
  return text + "\n";
}

Json scripts_report_json(const std::vector<ScriptResult>& results) {
  Json list = Json::array();
  for (const ScriptResult& result : results) {
    Json entry = {{"site", result.site.site},
                  {"process", result.site.process},
                  {"script", result.error ? Json() : Json(result.script.string())},
                  {"has_precision", result.has_precision},
                  {"reason", result.reason}};
    if (result.error) {
      entry["error"] = error_kind_info(*result.error).name;
      entry["message"] = result.message;
    }
    list.push_back(std::move(entry));
  }
  return {{"version", "1.0"}, {"results", std::move(list)}};
}

int exit_status(const std::vector<ScriptResult>& results) {
  int status = 0;
  for (const ScriptResult& result : results) {
    if (!result.error) continue;
    const int own = error_kind_info(*result.error).exit_status;
    status = status == 0 ? own : std::min(status, own);
  }
  return status;
}

}  // namespace fuseproof
