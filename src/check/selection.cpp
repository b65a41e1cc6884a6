#include "check/selection.h"

#include <fnmatch.h>

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

bool fits(const SiteAddress& address, const std::string& pattern) {
  if (pattern.find_first_of("*?[") == std::string::npos) {
    return address.site.find(pattern) != std::string::npos;
  }
  const std::string kernel = address.site.substr(address.site.find('_') + 1);
  return ::fnmatch(pattern.c_str(), address.site.c_str(), 0) == 0 ||
         ::fnmatch(pattern.c_str(), kernel.c_str(), 0) == 0;
}

}  // namespace

std::vector<SiteAddress> select_sites(const RunReader& run, const std::string& pattern) {
  if (pattern.empty()) return run.sites();
  std::vector<SiteAddress> sites;
  std::copy_if(run.sites().begin(), run.sites().end(), std::back_inserter(sites),
               [&](const SiteAddress& address) { return fits(address, pattern); });
  if (sites.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("no kernel of {} fits `{}`; it holds {} kernels",
                                               run.path().string(), pattern, run.sites().size()));
  }
  return sites;
}

void require_trust(const RunReader& run, Trust trust) {
  if (trust == Trust::kAny || run.is_local()) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("{} was not made by this user on this machine. It holds native code that "
                  "a check would run; say --trust (in Python: trust=True) if you know where "
                  "it comes from.",
                  run.path().string()));
}

}  // namespace fuseproof
