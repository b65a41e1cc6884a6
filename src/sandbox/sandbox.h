// Calls native code that may crash, hang or write where it must not, in processes of its own.
//
//   this process ── socket ──► fuseproof-runner (zygote) ── fork ──► one child for each call
//
// The zygote opens libtorch_cpu once (0.25 s) and never runs a parallel region, so that a forked
// child may: an OpenMP team does not survive a fork. The child maps the arena, makes its guard
// pages inaccessible, loads the object, calls, and reports through shared memory. The zygote keeps
// the wall limit, collects what is left, and answers. Rejected: a fresh process for each call (the
// loading of libtorch_cpu each time), and threads of this process (a stray write would reach the
// judge).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/channel.h"
#include "base/process.h"
#include "sandbox/request.h"
#include "tensor/arena.h"

namespace fuseproof {

struct SandboxOptions {
  Path runner;     // the executable fuseproof-runner
  Path torch_lib;  // folder of libtorch_cpu.so; empty: objects that need nothing of torch
  IsCancelled is_cancelled = {};  // ends a call that runs: kInternal
};

// One for each thread that calls. The zygote starts with the first call at the latest and ends with
// this object.
class Sandbox {
 public:
  explicit Sandbox(SandboxOptions options) : options_(std::move(options)) {}

  // Starts the zygote and does not wait until it has loaded torch: the first call does. Nothing
  // when one is there.
  void start();

  // Calls request.entry on the storages of the arena, in place. What the code does is in the
  // report; Error is for a request that makes no sense (kBadInput), a runner that does not start,
  // and a runner that dies during the call (kInternal: the arena is then in an unknown state). A
  // runner that has died since the last call is replaced, and the report's note says so.
  SandboxReport call(const SandboxRequest& request, Arena& arena);

  // Of the running zygote; nothing before it was started.
  std::optional<pid_t> runner_pid() const;

 private:
  struct Runner {
    ChildProcess process;
    Channel channel;
    bool is_ready = false;  // it has said so
  };

  Runner spawn() const;
  void await_ready(Runner& runner) const;
  // Makes sure that a zygote is ready; returns the note for the report, mostly empty.
  std::string ensure_runner();
  // Ends the zygote and throws kInternal.
  [[noreturn]] void fail_dead(const SandboxRequest& request, const std::string& cause);

  SandboxOptions options_;
  std::optional<Runner> runner_;
};

}  // namespace fuseproof
