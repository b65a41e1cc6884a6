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

// Why the run may have been made elsewhere, as the rest of a sentence about it; "" for one that
// this user made on this machine.
std::string foreign_because(FileSystem& files, const RunReader& run);

// Throws kUsage for a run that may have been made elsewhere, unless any is trusted.
void require_trust(FileSystem& files, const RunReader& run, Trust trust);

// As many kernels as can run at once without having more threads than there are processors: by the
// largest number of threads that one of them was generated for.
int fitting_jobs(FileSystem& files, const RunReader& run, const std::vector<SiteAddress>& sites);

// What went wrong inside Fuseproof while it captured, by the processes' own account.
struct CaptureProblem {
  std::string text;  // may be a traceback, which ends in the error
  Path file;         // that lists it
};
std::vector<CaptureProblem> capture_problems(FileSystem& files, const RunReader& run);

}  // namespace fuseproof
