// The life of the process that makes one call and ends.
#pragma once

#include <sys/types.h>

#include "base/json.h"
#include "sandbox/request.h"
#include "sandbox/runner/result_block.h"

namespace fuseproof {

struct ChildSetup {
  const SandboxRequest* request;
  const Json* arena_description;
  int arena_fd;
  int error_output_fd;  // becomes stderr
  int channel_fd;       // the zygote's; closed, so that the client sees the zygote's end
  pid_t zygote;
  ResultBlock* result;
};

// Runs in the forked child. What comes of it is in the result block; the exit status is 0 exactly
// when the block's stage is final.
[[noreturn]] void run_child(const ChildSetup& setup);

}  // namespace fuseproof
