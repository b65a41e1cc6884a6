#include "sandbox/runner/child.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

#include "base/error.h"
#include "sandbox/runner/call.h"
#include "sandbox/runner/guard_pages.h"
#include "tensor/arena.h"

namespace fuseproof {
namespace {

// What a call may write to a file, its stderr among them: only the end of that is kept.
constexpr rlim_t kFileBytes = 1 << 20;

void copy_text(std::string_view text, std::span<char> target) {
  const std::size_t count = std::min(text.size(), target.size() - 1);
  std::memcpy(target.data(), text.data(), count);
  target[count] = '\0';
}

[[noreturn]] void finish(ResultBlock& result, Stage stage, std::string_view text) {
  copy_text(text, result.text);
  result.stage = stage;
  ::_exit(0);
}

// The child must not outlive the zygote, must not be heard, and is killed with all it starts.
void detach(const ChildSetup& setup) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != setup.zygote) ::_exit(1);
  ::setpgid(0, 0);
  ::close(setup.channel_fd);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(setup.error_output_fd, STDERR_FILENO);
}

// A library of the zygote's (torch, a sanitizer) may have taken them over; a crash is told by its
// signal.
void restore_fatal_signals() {
  for (const int number : {SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) ::signal(number, SIG_DFL);
}

void set_limit(int resource, rlim_t soft, rlim_t hard) {
  rlimit limit = {};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  // An own limit of the user's may be lower already, and cannot be raised.
  limit.rlim_cur = std::min(soft, limit.rlim_max);
  limit.rlim_max = std::min(hard, limit.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

std::uint64_t address_space_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) throw Error(ErrorKind::kIo, "cannot read /proc/self/statm");
  unsigned long long pages = 0;
  const int fields = std::fscanf(file, "%llu", &pages);
  std::fclose(file);
  if (fields != 1) throw Error(ErrorKind::kIo, "cannot read /proc/self/statm");
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void set_limits(const SandboxRequest& request) {
  set_limit(RLIMIT_CORE, 0, 0);
  ::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit fails instead
  set_limit(RLIMIT_FSIZE, kFileBytes, kFileBytes);
  if (request.limits.cpu_seconds > 0) {
    const auto seconds =
        static_cast<rlim_t>(request.limits.cpu_seconds) * static_cast<rlim_t>(request.threads);
    set_limit(RLIMIT_CPU, seconds, seconds + 1);
  }
  if (request.limits.memory_bytes > 0) {
    const rlim_t bytes = address_space_bytes() + request.limits.memory_bytes;
    set_limit(RLIMIT_AS, bytes, bytes);
  }
}

void* load_entry(const SandboxRequest& request, ResultBlock& result, void*& object) {
  result.stage = Stage::kLoading;
  object = ::dlopen(request.object.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (object == nullptr) finish(result, Stage::kDidNotLoad, ::dlerror());
  void* entry = ::dlsym(object, request.entry.c_str());
  if (entry == nullptr) finish(result, Stage::kDidNotLoad, ::dlerror());
  return entry;
}

// Of the OpenMP runtime that the object calls: torch's, or one that came with the object.
void set_threads(void* object, int threads) {
  for (void* scope : {RTLD_DEFAULT, object}) {
    if (void* function = ::dlsym(scope, "omp_set_num_threads")) {
      reinterpret_cast<void (*)(int)>(function)(threads);
    }
  }
}

[[noreturn]] void load_and_call(const ChildSetup& setup) {
  const SandboxRequest& request = *setup.request;
  ResultBlock& result = *setup.result;
  Arena arena = Arena::attach(setup.arena_fd, *setup.arena_description, Arena::Sharing::kShared);
  set_limits(request);
  void* object = nullptr;
  void* entry = load_entry(request, result, object);
  set_threads(object, request.threads);
  install_guard_pages(arena, result);
  result.stage = Stage::kCalling;
  const CallResult call = call_entry(entry, request.arguments, arena, request.mxcsr);
  result.mxcsr_after = call.mxcsr_after;
  result.time_ns = call.time_ns;
  copy_text(call.exception_type, result.type);
  finish(result, call.threw ? Stage::kException : Stage::kReturned, call.exception_text);
}

}  // namespace

void run_child(const ChildSetup& setup) {
  detach(setup);
  restore_fatal_signals();
  try {
    load_and_call(setup);
  } catch (const std::exception& error) {
    finish(*setup.result, Stage::kSetupFailed, error.what());
  }
}

}  // namespace fuseproof
