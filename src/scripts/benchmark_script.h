// Writes a benchmark.py. Sees the specification alone; the frame of the script is
// templates/benchmark.py.mustache.
#pragma once

#include <string>

#include "scripts/benchmark_spec.h"

namespace fuseproof {

// The whole script. It has an eager function and --check when the specification has a precision
// context, and neither otherwise.
std::string benchmark_script(const BenchmarkSpec& spec);

}  // namespace fuseproof
