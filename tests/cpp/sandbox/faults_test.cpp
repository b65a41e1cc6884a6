#include <fstream>

#include <doctest/doctest.h>

#include "sandbox/sandbox_fixture.h"
#include "temporary_folder.h"

using namespace fuseproof;
using namespace fuseproof::test;

namespace {
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("a null dereference is a crash with the signal's name and the address") {
  const SandboxReport report = call_alone("null_dereference");
  CHECK(report.outcome == SandboxOutcome::kCrashed);
  CHECK(report.message == "SIGSEGV (Segmentation fault) at address 0x0");
  CHECK(report.guard_hits.empty());
}

TEST_CASE("a signal that the kernel sends itself is a crash") {
  const SandboxReport report = call_alone("raise_segv");
  CHECK(report.outcome == SandboxOutcome::kCrashed);
  CHECK(has(report.message, "SIGSEGV"));
}

TEST_CASE("a stack overflow is a crash") {
  const SandboxReport report = call_alone("stack_overflow");
  CHECK(report.outcome == SandboxOutcome::kCrashed);
  CHECK(has(report.message, "SIGSEGV"));
}

TEST_CASE("an integer division by zero is a crash by SIGFPE") {
  const SandboxReport report = call_alone("divide_by_zero");
  CHECK(report.outcome == SandboxOutcome::kCrashed);
  CHECK(has(report.message, "SIGFPE"));
}

TEST_CASE("abort is a crash, with what was written to stderr before") {
  const SandboxReport report = call_alone("abort_here");
  CHECK(report.outcome == SandboxOutcome::kCrashed);
  CHECK(has(report.message, "SIGABRT"));
  CHECK(report.error_output == "said before the end");
}

TEST_CASE("the C library's own complaint about the heap is kept") {
#if defined(__SANITIZE_THREAD__)
  MESSAGE(
      "skipped: the thread sanitizer replaces malloc and takes a second free without complaint");
#else
  const SandboxReport report = call_alone("free_twice");
  CHECK(report.outcome == SandboxOutcome::kCrashed);
  // The text is glibc's, or the address sanitizer's where the runner is built with it.
  CHECK((has(report.error_output, "double free") || has(report.error_output, "double-free")));
#endif
}

TEST_CASE("exit(0) inside a kernel is no success") {
  const SandboxReport report = call_alone("exit_with_zero");
  CHECK(report.outcome == SandboxOutcome::kCrashed);
  CHECK(report.message == "the code ended its process with exit status 0 instead of returning");
  CHECK(has(call_alone("quick_exit_with_three").message, "exit status 3"));
}

TEST_CASE("an endless loop is ended by the CPU-time limit") {
  SandboxRequest call = request("spin", {pointer(0)});
  call.limits.cpu_seconds = 1;
  const SandboxReport report = call_alone(call);
  CHECK(report.outcome == SandboxOutcome::kHung);
  CHECK(has(report.message, "CPU-time limit of 1 s"));
}

TEST_CASE("endless sleep is ended by the wall limit, and the runner lives on") {
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 64}});
  SandboxRequest call = request("sleep_long", {pointer(0)});
  call.limits.wall_seconds = 1;
  const SandboxReport report = sandbox.call(call, arena);
  CHECK(report.outcome == SandboxOutcome::kHung);
  CHECK(has(report.message, "wall limit of 1 s"));
  CHECK(sandbox.call(request("double_it", {pointer(0)}), arena).outcome ==
        SandboxOutcome::kReturned);
}

TEST_CASE("a C++ exception keeps type and text") {
  const SandboxReport report = call_alone("throw_out_of_range");
  CHECK(report.outcome == SandboxOutcome::kException);
  CHECK(report.exception_type == "std::out_of_range");
  CHECK(report.message == "index 9 of 4");
}

TEST_CASE("an exception of no class, and one with a very long text, are exceptions too") {
  const SandboxReport number = call_alone("throw_int");
  CHECK(number.outcome == SandboxOutcome::kException);
  CHECK(number.exception_type == "int");
  const SandboxReport text = call_alone("throw_long_text");
  CHECK(text.outcome == SandboxOutcome::kException);
  CHECK(text.exception_type == "std::runtime_error");
  CHECK(text.message.size() > 1000);
  CHECK(text.message.find_first_not_of('x') == std::string::npos);
}

TEST_CASE("a huge allocation fails under the memory limit and passes without") {
#if defined(FUSEPROOF_TEST_SANITIZED)
  MESSAGE("skipped: a sanitizer replaces malloc and ends the process where it would fail");
#else
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 8}});
  SandboxRequest call = request("allocate", {pointer(0), integer(std::int64_t{600} << 20)});
  REQUIRE(sandbox.call(call, arena).outcome == SandboxOutcome::kReturned);
  CHECK(element<std::int64_t>(arena, 0, 0) == 1);
  call.limits.memory_bytes = std::uint64_t{300} << 20;
  const SandboxReport report = sandbox.call(call, arena);
  CHECK(report.outcome == SandboxOutcome::kException);
  CHECK(report.exception_type == "std::bad_alloc");
#endif
}

TEST_CASE("an object that is no shared object does not load") {
  const TemporaryFolder folder;
  SandboxRequest call = request("double_it", {pointer(0)});
  call.object = folder.path() / "kernel.so";
  std::ofstream(call.object)
      << "a text that is longer than the header of an object would be, by far";
  const SandboxReport report = call_alone(call);
  CHECK(report.outcome == SandboxOutcome::kDidNotLoad);
  CHECK(has(report.message, "invalid ELF header"));
  call.object = "/nowhere/kernel.so";
  CHECK(has(call_alone(call).message, "/nowhere/kernel.so"));
}

TEST_CASE("a missing entry is named") {
  const SandboxReport report = call_alone("no_such_entry");
  CHECK(report.outcome == SandboxOutcome::kDidNotLoad);
  CHECK(has(report.message, "no_such_entry"));
}

TEST_CASE("endless output does not hang or fill memory, and its end is kept") {
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 64}});
  const SandboxReport report = sandbox.call(request("write_much_to_stderr", {pointer(0)}), arena);
  CHECK(report.outcome == SandboxOutcome::kReturned);
  CHECK(report.error_output.size() <= 4096);
  CHECK(element<float>(arena, 0, 0) == 5.0f);
}
