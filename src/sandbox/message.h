// The sandbox's messages as JSON, in both directions. Floating-point arguments travel as bit
// patterns: JSON has no NaN.
#pragma once

#include "base/json.h"
#include "sandbox/request.h"

namespace fuseproof {

Json to_json(const SandboxRequest& request);
SandboxRequest sandbox_request_from_json(const JsonObject& object);

// `note` stays behind: it belongs to the client.
Json to_json(const SandboxReport& report);
SandboxReport sandbox_report_from_json(const JsonObject& object);

}  // namespace fuseproof
