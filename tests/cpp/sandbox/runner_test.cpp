#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "sandbox/sandbox_fixture.h"

using namespace fuseproof;
using namespace fuseproof::test;

namespace {

bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0; }

// A process that was sent a signal may take a moment to go.
bool ends_soon(pid_t pid) {
  for (int i = 0; i < 500 && is_alive(pid); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return !is_alive(pid);
}

}  // namespace

TEST_CASE("one runner serves many calls") {
  Sandbox sandbox(runner_options());
  CHECK_FALSE(sandbox.runner_pid());
  Arena arena = make_arena({{.size_bytes = 64}});
  sandbox.call(request("double_it", {pointer(0)}), arena);
  const std::optional<pid_t> pid = sandbox.runner_pid();
  for (int i = 0; i < 50; ++i) {
    CHECK(sandbox.call(request("double_it", {pointer(0)}), arena).outcome ==
          SandboxOutcome::kReturned);
  }
  CHECK(sandbox.runner_pid() == pid);
}

TEST_CASE("a runner that was started ahead serves the first call, ready or not") {
  Sandbox sandbox(runner_options());
  sandbox.start();
  const pid_t pid = sandbox.runner_pid().value();
  sandbox.start();
  Arena arena = make_arena({{.size_bytes = 64}});
  set_element(arena, 0, 0, 1.0f);
  CHECK(sandbox.call(request("double_it", {pointer(0)}), arena).note.empty());
  CHECK(element<float>(arena, 0, 0) == 2.0f);
  CHECK(sandbox.runner_pid() == pid);
}

TEST_CASE("a runner that dies before it is ready is an error, and the next call works") {
  Sandbox sandbox(runner_options());
  sandbox.start();
  ::kill(sandbox.runner_pid().value(), SIGKILL);
  Arena arena = make_arena({{.size_bytes = 64}});
  CHECK_THROWS_AS(sandbox.call(request("double_it", {pointer(0)}), arena), Error);
  CHECK(sandbox.call(request("double_it", {pointer(0)}), arena).outcome ==
        SandboxOutcome::kReturned);
}

TEST_CASE("a runner that was killed between calls is replaced, and the report says so") {
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 64}});
  set_element(arena, 0, 0, 1.0f);
  sandbox.call(request("double_it", {pointer(0)}), arena);
  ::kill(sandbox.runner_pid().value(), SIGKILL);
  // Until the kernel has closed the runner's descriptors it looks alive.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const SandboxReport report = sandbox.call(request("double_it", {pointer(0)}), arena);
  CHECK(report.outcome == SandboxOutcome::kReturned);
  CHECK(report.note.find("was killed by signal 9") != std::string::npos);
  CHECK(element<float>(arena, 0, 0) == 4.0f);
  CHECK(sandbox.call(request("double_it", {pointer(0)}), arena).note.empty());
}

TEST_CASE("a runner that is killed during a call is an error, and the next call works") {
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 64}});
  sandbox.call(request("double_it", {pointer(0)}), arena);
  const pid_t pid = sandbox.runner_pid().value();
  std::thread killer([pid] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::kill(pid, SIGKILL);
  });
  try {
    sandbox.call(request("sleep_long", {pointer(0)}), arena);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInternal);
    CHECK(std::string(error.what()).find("killed by signal 9") != std::string::npos);
  }
  killer.join();
  CHECK(sandbox.call(request("double_it", {pointer(0)}), arena).outcome ==
        SandboxOutcome::kReturned);
}

TEST_CASE("processes that a kernel starts end with the call") {
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 64}});
  REQUIRE(sandbox.call(request("fork_and_sleep", {pointer(0)}), arena).outcome ==
          SandboxOutcome::kReturned);
  CHECK(ends_soon(static_cast<pid_t>(element<std::int64_t>(arena, 0, 0))));
}

TEST_CASE("the runner ends when its client has gone, even in the middle of a call") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t client = ::fork();
  if (client == 0) {
    Sandbox sandbox(runner_options());
    Arena arena = make_arena({{.size_bytes = 64}});
    sandbox.call(request("double_it", {pointer(0)}), arena);
    const pid_t pid = sandbox.runner_pid().value();
    if (::write(ends[1], &pid, sizeof(pid)) != sizeof(pid)) ::_exit(1);
    sandbox.call(request("sleep_long", {pointer(0)}), arena);
    ::_exit(0);
  }
  pid_t runner = -1;
  REQUIRE(::read(ends[0], &runner, sizeof(runner)) == sizeof(runner));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ::kill(client, SIGKILL);
  ::waitpid(client, nullptr, 0);
  CHECK(ends_soon(runner));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("LD_BIND_NOW in the environment does not keep a kernel object from loading") {
  ::setenv("LD_BIND_NOW", "1", 1);
  const SandboxReport report = call_alone("double_it");
  ::unsetenv("LD_BIND_NOW");
  CHECK(report.outcome == SandboxOutcome::kReturned);
}

TEST_CASE("a runner that does not exist, and a torch folder without torch, are named") {
  Arena arena = make_arena({{.size_bytes = 64}});
  const SandboxRequest call = request("double_it", {pointer(0)});
  CHECK_THROWS_WITH_AS(Sandbox({.runner = "/nowhere/runner", .torch_lib = ""}).call(call, arena),
                       doctest::Contains("/nowhere/runner"), Error);
  CHECK_THROWS_WITH_AS(
      Sandbox({.runner = FUSEPROOF_TEST_RUNNER, .torch_lib = "/nowhere"}).call(call, arena),
      doctest::Contains("/nowhere/libtorch_cpu.so"), Error);
  CHECK_THROWS_AS(Sandbox({.runner = "/bin/true", .torch_lib = ""}).call(call, arena), Error);
}
