// One call of a C function whose signature is known only at run time, through libffi.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sandbox/request.h"
#include "tensor/arena.h"

namespace fuseproof {

struct CallResult {
  bool threw = false;
  std::string exception_type;
  std::string exception_text;
  std::int64_t time_ns = 0;
  std::uint32_t mxcsr_after = 0;  // status bits cleared
};

// Calls `entry`, which returns void, with these arguments; pointers point into the arena. MXCSR has
// the given value during the call (and in threads that the call starts), its own value afterwards.
CallResult call_entry(void* entry, std::span<const SandboxArgument> arguments, Arena& arena,
                      std::uint32_t mxcsr);

}  // namespace fuseproof
