// `fuseproof show`: one kernel from the user's line down to its worst element.
#pragma once

#include <string>

#include "check/results.h"

namespace fuseproof {

struct SiteStory {
  SiteBundle site;
  std::string source;                // kernel.cpp
  std::optional<SiteResult> result;  // absent: shown without a check
};

// User's lines with the FX nodes that came from each, arguments, the verdict with its worst
// element, and the kernel's source with line numbers.
std::string site_report_text(const SiteStory& story);

Json site_report_json(const SiteStory& story);

}  // namespace fuseproof
