// Reads a child's end: from what it left in the result block and how its process ended to a report.
#pragma once

#include <span>

#include "sandbox/request.h"
#include "sandbox/runner/result_block.h"
#include "sandbox/runner/supervise.h"
#include "tensor/arena.h"

namespace fuseproof {

// Throws kInternal when the sandbox itself failed in the child.
SandboxReport make_report(const SandboxRequest& request, std::span<const ArenaSlot> slots,
                          const ChildEnd& end, const ResultBlock& result, int error_output_fd);

}  // namespace fuseproof
