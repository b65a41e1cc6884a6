// What `fuseproof scripts` says about the scripts that it wrote.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "scripts/write_scripts.h"

namespace fuseproof {

// A line for each script, and their number.
std::string scripts_report_text(const std::vector<ScriptResult>& results);

// {"version", "results": [{"site", "script", "has_precision", "reason", "error"?, "message"?}]}.
Json scripts_report_json(const std::vector<ScriptResult>& results);

// 0, or that of the gravest error: 2 before 3.
int exit_status(const std::vector<ScriptResult>& results);

}  // namespace fuseproof
