// Which kernels of a run are to be checked, and whether its native code may run here.
#pragma once

#include <string>
#include <vector>

#include "bundle/run.h"

namespace fuseproof {

// The sites that fit a pattern: any part of the site's name, or with wildcards (*, ?, [) a shell
// glob on the site or the kernel. "" fits all. Throws kUsage when no site fits a pattern.
std::vector<SiteAddress> select_sites(const RunReader& run, const std::string& pattern);

enum class Trust : std::uint8_t { kLocalOnly, kAny };

// Throws kUsage for a run that was made elsewhere, unless any is trusted.
void require_trust(const RunReader& run, Trust trust);

}  // namespace fuseproof
