// From a bundle to what a script is written from. The only part of scripts/ that sees a run.
#pragma once

#include "bundle/run.h"
#include "scripts/benchmark_spec.h"

namespace fuseproof {

// Sizes are those of the first recorded call; without one, those that the compiler had as hints.
// Throws kBadInput for a damaged bundle, and kUnsupported where no call is on record and the
// fragment does not say what the kernel is called with.
BenchmarkSpec build_benchmark_spec(FileSystem& files, const RunReader& run, const SiteBundle& site);

}  // namespace fuseproof
