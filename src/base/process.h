// Child processes of Fuseproof (the runner and the reference worker): started by posix_spawn, with
// no shell and no fork of this process's threads, and never left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"

namespace fuseproof {

// Opens /dev/null on those of the descriptors 0, 1 and 2 that are closed. A program that was
// started with one closed (`<&-`) would otherwise get it for a socket or for shared memory, and
// pass it on. Writing to a stdout that was closed stays an error of this program's; children may
// write to theirs.
void hold_standard_descriptors();

struct EnvironmentChange {
  std::string name;
  std::optional<std::string> value;  // absent: the variable is removed
};

// For a worker that runs OpenMP code. Threads that spin at a barrier take the processor from those
// they wait for when other work runs beside the check: 20 ms instead of 4 for a small kernel on a
// busy machine. Nothing where the user has set a policy.
std::vector<EnvironmentChange> quiet_openmp();

enum class ChildStdout : std::uint8_t {
  kInherit,
  kToStderr,  // for workers: what code under test prints must not mix with a document on stdout
};

enum class ProcessGroup : std::uint8_t {
  kInherit,
  kOwn,  // kill(-pid) then reaches what the child starts itself
};

struct SpawnRequest {
  Path program;                             // a path with a slash; PATH is not searched
  std::vector<std::string> arguments = {};  // without the program's name
  std::vector<int> kept_fds = {};           // open in the child under the same numbers
  std::vector<EnvironmentChange> environment = {};
  ChildStdout child_stdout = ChildStdout::kInherit;
  ProcessGroup process_group = ProcessGroup::kInherit;
  int stderr_fd = -1;  // becomes the child's stderr; negative: inherited
};

// How a process ended.
struct ExitStatus {
  int code = 0;    // when signal is 0
  int signal = 0;  // that ended it
  bool succeeded() const { return code == 0 && signal == 0; }
};

// "ended with status 3", "was killed by signal 11 (Segmentation fault)".
std::string to_string(ExitStatus status);

// Owns a child: kills (SIGKILL) and reaps it on destruction. Movable.
class ChildProcess {
 public:
  // Throws kBadInput when the program does not exist, kIo when it cannot be started.
  static ChildProcess spawn(const SpawnRequest& request);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  // Blocks until the child has ended. Further calls return the same status.
  ExitStatus wait();
  // Waits that long, then sends SIGKILL (to the whole group where it has one of its own).
  ExitStatus wait_or_kill(std::chrono::milliseconds grace);
  // The status if the child has ended, else nothing.
  std::optional<ExitStatus> poll();
  // Sends a signal; does nothing once the child has been reaped.
  void kill(int signal);

 private:
  ChildProcess(pid_t pid, ProcessGroup group) : pid_(pid), group_(group) {}
  void end();

  pid_t pid_ = -1;
  ProcessGroup group_ = ProcessGroup::kInherit;
  std::optional<ExitStatus> status_;  // set once reaped
};

}  // namespace fuseproof
