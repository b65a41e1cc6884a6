// Checks the kernels of a run: every site, every recorded call, over several workers. The only
// engine: the command line and Python call it; a live watch will give it calls from memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bundle/run.h"
#include "bundle/runners.h"
#include "check/call_check.h"

namespace fuseproof {

// What one worker computes with. Made by the caller, who knows the programs' places.
struct Workbench {
  std::unique_ptr<KernelRunner> kernels;
  std::unique_ptr<ReferenceRunner> reference;
};
using WorkbenchFactory = std::function<Workbench()>;

struct CheckPlan {
  CheckSettings settings;
  int jobs = 1;
  // Called after each site, from any worker but never from two at once.
  std::function<void(std::size_t done, std::size_t total, const SiteResult& latest)> progress;
  // Asked before each site, and by the workers while they wait: true ends the check early and keeps
  // what is there.
  std::function<bool()> is_cancelled = [] { return false; };
};

// One result for each site, in the order given: that of its worst call. A fault of one bundle
// (damaged files) is part of that site's result, and the rest goes on. Throws only where no worker
// can be set up.
std::vector<SiteResult> check_sites(const RunReader& run, const std::vector<SiteAddress>& sites,
                                    const WorkbenchFactory& workbench, const CheckPlan& plan);

}  // namespace fuseproof
