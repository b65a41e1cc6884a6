// Waits for a child, and ends it when its time is up or nobody is left to be told.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace fuseproof {

struct ChildEnd {
  enum class How : std::uint8_t { kByItself, kWallLimit, kClientGone };
  How how = How::kByItself;
  int wait_status = 0;     // of waitpid
  double cpu_seconds = 0;  // user and system time of the child
};

// Returns once the child is reaped and its process group killed. `wall_seconds` 0: no limit.
ChildEnd supervise(pid_t child, int channel_fd, int wall_seconds);

}  // namespace fuseproof
