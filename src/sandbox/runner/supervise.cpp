#include "sandbox/runner/supervise.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace fuseproof {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// At most one minute, so that a long limit does not overflow poll()'s int.
int poll_time_ms(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<Milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

ChildEnd::How wait_for_end(int child_fd, int channel_fd, Clock::time_point deadline) {
  // The client says nothing during a call: only its end is of interest.
  pollfd entries[] = {{child_fd, POLLIN, 0}, {channel_fd, POLLRDHUP, 0}};
  while (true) {
    const int ready = ::poll(entries, 2, poll_time_ms(deadline));
    if (ready < 0 && errno != EINTR) return ChildEnd::How::kClientGone;
    if (ready > 0 && entries[0].revents != 0) return ChildEnd::How::kByItself;
    if (ready > 0) return ChildEnd::How::kClientGone;
    if (Clock::now() >= deadline) return ChildEnd::How::kWallLimit;
  }
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

ChildEnd supervise(pid_t child, int channel_fd, int wall_seconds) {
  ::setpgid(child, child);  // the child does it too: whoever comes first
  const FileDescriptor child_fd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (child_fd.get() < 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    throw Error(ErrorKind::kUnsupported, "fuseproof-runner needs Linux 5.3 or newer (pidfd_open)");
  }
  const Clock::time_point deadline = wall_seconds > 0
                                         ? Clock::now() + std::chrono::seconds(wall_seconds)
                                         : Clock::time_point::max() - std::chrono::hours(1);
  ChildEnd end;
  end.how = wait_for_end(child_fd.get(), channel_fd, deadline);
  // Before the child is reaped its process id, which names the group, cannot be given anew. The
  // status of a child that has ended does not change.
  ::kill(-child, SIGKILL);
  rusage usage = {};
  while (::wait4(child, &end.wait_status, 0, &usage) < 0 && errno == EINTR) {
  }
  end.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  return end;
}

}  // namespace fuseproof
