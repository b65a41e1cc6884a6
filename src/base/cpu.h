// What a compiled kernel depends on of the machine: its processor's name and vector extensions.
#pragma once

#include <string>

#include "base/files.h"

namespace fuseproof {

// "AMD EPYC 9R14 (avx512f avx512_bf16 …)": equal on two machines that can run each other's kernels
// built for the native processor. Read from /proc/cpuinfo; the bare architecture where that says
// nothing.
std::string cpu_description(FileSystem& files);

}  // namespace fuseproof
