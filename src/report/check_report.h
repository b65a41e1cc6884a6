// The two forms in which the results of `fuseproof check` leave the program.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "check/results.h"

namespace fuseproof {

struct CheckSummary {
  std::string run;       // path
  std::string criteria;  // "default" or "cann"
  double seconds = 0;
  Json capture = Json::object();  // the counts that the capture left in run.json
  // Findings of the baseline that were not met; absent without a baseline.
  std::optional<std::size_t> unmet_findings = {};
};

// A table with one line a kernel, details of every finding below it, and a summary.
std::string check_report_text(const std::vector<SiteResult>& results, const CheckSummary& summary);

// {"version", "run", "criteria", "stages", "results": [every result], "summary": {verdict: count},
// "baseline"?: {"known", "unmet"}, …}.
Json check_report_json(const std::vector<SiteResult>& results, const CheckSummary& summary);

}  // namespace fuseproof
