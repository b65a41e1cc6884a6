#include "base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

[[noreturn]] void fail(const Path& program, int error) {
  const bool absent = error == ENOENT || error == ENOTDIR;
  throw Error(
      absent ? ErrorKind::kBadInput : ErrorKind::kIo,
      fmt::format("cannot start {}: {}", program.string(), std::generic_category().message(error)));
}

// What posix_spawn does in the child before the program starts.
class SpawnSetup {
 public:
  explicit SpawnSetup(const SpawnRequest& request) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    // A descriptor duplicated onto itself loses its close-on-exec flag.
    for (const int fd : request.kept_fds) posix_spawn_file_actions_adddup2(&actions_, fd, fd);
    if (request.stderr_fd >= 0) {
      posix_spawn_file_actions_adddup2(&actions_, request.stderr_fd, STDERR_FILENO);
    }
    if (request.child_stdout == ChildStdout::kToStderr) {
      posix_spawn_file_actions_adddup2(&actions_, STDERR_FILENO, STDOUT_FILENO);
    } else if ((::fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY) {
      // Ours was closed. A child that does not mind must not fail for it.
      posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_RDWR, 0);
    }
    // The child starts with no signal blocked, and dies of SIGPIPE as any program does.
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigaddset(&signals, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (request.process_group == ProcessGroup::kOwn) flags |= POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setflags(&attributes_, flags);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::vector<std::string> changed_environment(const std::vector<EnvironmentChange>& changes) {
  const auto is_changed = [&](std::string_view entry) {
    return std::any_of(changes.begin(), changes.end(), [&](const EnvironmentChange& change) {
      return entry.size() > change.name.size() && entry.starts_with(change.name) &&
             entry[change.name.size()] == '=';
    });
  };
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!is_changed(*entry)) result.emplace_back(*entry);
  }
  for (const EnvironmentChange& change : changes) {
    if (change.value) result.push_back(change.name + "=" + *change.value);
  }
  return result;
}

// Pointers into `texts`, ended by null, as exec wants them.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

ExitStatus decode(int status) {
  if (WIFSIGNALED(status)) return {0, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

}  // namespace

void hold_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open() takes the lowest free number, which is this one.
    const int mode = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;
    if (::fcntl(fd, F_GETFD) == -1 && ::open("/dev/null", mode) == -1) return;
  }
}

std::vector<EnvironmentChange> quiet_openmp() {
  constexpr const char* kPolicy = "OMP_WAIT_POLICY";
  if (std::getenv(kPolicy) != nullptr) return {};
  return {{kPolicy, "passive"}};
}

std::string to_string(ExitStatus status) {
  if (status.signal == 0) return fmt::format("ended with status {}", status.code);
  return fmt::format("was killed by signal {} ({})", status.signal, ::strsignal(status.signal));
}

ChildProcess ChildProcess::spawn(const SpawnRequest& request) {
  const SpawnSetup setup(request);
  std::vector<std::string> arguments = request.arguments;
  arguments.insert(arguments.begin(), request.program.string());
  std::vector<std::string> environment = changed_environment(request.environment);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, request.program.c_str(), setup.actions(), setup.attributes(),
                    pointers(arguments).data(), pointers(environment).data());
  if (error != 0) fail(request.program, error);
  return ChildProcess(pid, request.process_group);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), group_(other.group_), status_(other.status_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    end();
    pid_ = std::exchange(other.pid_, -1);
    group_ = other.group_;
    status_ = other.status_;
  }
  return *this;
}

ChildProcess::~ChildProcess() { end(); }

void ChildProcess::end() {
  if (pid_ < 0) return;
  kill(SIGKILL);
  wait();
  pid_ = -1;
}

ExitStatus ChildProcess::wait() {
  while (!status_) {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, 0);
    if (ended == pid_) status_ = decode(status);
    // The host program may have reaped it (SIGCHLD ignored, a waitpid for any child).
    if (ended < 0 && errno != EINTR) status_ = ExitStatus{};
  }
  return *status_;
}

ExitStatus ChildProcess::wait_or_kill(std::chrono::milliseconds grace) {
  constexpr std::chrono::milliseconds kStep{5};
  const auto deadline = std::chrono::steady_clock::now() + grace;
  while (!poll() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(kStep);
  if (!status_) ::kill(group_ == ProcessGroup::kOwn ? -pid_ : pid_, SIGKILL);
  return wait();
}

std::optional<ExitStatus> ChildProcess::poll() {
  if (status_) return status_;
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == pid_) status_ = decode(status);
  if (ended < 0 && errno != EINTR) status_ = ExitStatus{};
  return status_;
}

void ChildProcess::kill(int signal) {
  if (pid_ > 0 && !status_) ::kill(pid_, signal);
}

}  // namespace fuseproof
