#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "sandbox/sandbox_fixture.h"

using namespace fuseproof;
using namespace fuseproof::test;

TEST_CASE("a kernel changes its storage in place, seen by the caller") {
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 32}});
  for (std::size_t i = 0; i < 8; ++i) set_element(arena, 0, i, static_cast<float>(i));
  const SandboxReport report = sandbox.call(request("double_it", {pointer(0)}), arena);
  CHECK(report.outcome == SandboxOutcome::kReturned);
  CHECK(report.message.empty());
  CHECK(report.note.empty());
  CHECK(report.guard_hits.empty());
  CHECK(report.time_ns > 0);
  CHECK(report.mxcsr_after == 0x1f80);
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(element<float>(arena, 0, i) == 2.0f * static_cast<float>(i));
  CHECK(arena.damaged_bands().empty());
}

TEST_CASE("seven arguments of all kinds arrive in their places") {
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 8}, {.size_bytes = 8}, {.size_bytes = 40}});
  set_element(arena, 0, 0, 0.5f);
  set_element(arena, 1, 1, 0.25f);
  const std::int64_t large = std::int64_t{1} << 40;
  const SandboxReport report =
      sandbox.call(request("seven", {pointer(0), integer(large), single_precision(0.1),
                                     double_precision(0.1), pointer(1), integer(-3), pointer(2)}),
                   arena);
  REQUIRE(report.outcome == SandboxOutcome::kReturned);
  CHECK(element<double>(arena, 2, 0) == 0.75);
  CHECK(element<double>(arena, 2, 1) == std::ldexp(1.0, 40));
  CHECK(element<double>(arena, 2, 2) == static_cast<double>(0.1f));
  CHECK(element<double>(arena, 2, 3) == 0.1);
  CHECK(element<double>(arena, 2, 4) == -3.0);
}

TEST_CASE("forty arguments, most of them on the stack, arrive in their places") {
  std::vector<SandboxArgument> arguments;
  std::vector<double> expected;
  for (int i = 0; i < 39; ++i) {
    const bool is_integer = (i / 10) % 2 == 0;
    const double value = is_integer ? i - 20 : i + 0.5;  // exact in float
    expected.push_back(value);
    if (is_integer) {
      arguments.push_back(integer(i - 20));
    } else if (i % 2 == 1) {
      arguments.push_back(single_precision(value));
    } else {
      arguments.push_back(double_precision(value));
    }
  }
  arguments.push_back(pointer(0));
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 39 * sizeof(double)}});
  REQUIRE(sandbox.call(request("forty", arguments), arena).outcome == SandboxOutcome::kReturned);
  for (std::size_t i = 0; i < 39; ++i) CHECK(element<double>(arena, 0, i) == expected[i]);
}

TEST_CASE("NaN and infinity survive the way to the kernel") {
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 8}, {.size_bytes = 40}});
  const double infinity = std::numeric_limits<double>::infinity();
  const SandboxReport report = sandbox.call(
      request("seven", {pointer(0), integer(0), single_precision(-infinity),
                        double_precision(std::nan("")), pointer(0), integer(0), pointer(1)}),
      arena);
  REQUIRE(report.outcome == SandboxOutcome::kReturned);
  CHECK(element<double>(arena, 1, 2) == -infinity);
  CHECK(std::isnan(element<double>(arena, 1, 3)));
}

TEST_CASE("a pointer argument may point into the middle of a storage") {
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 96, .address_mod_64 = 16}});
  for (std::size_t i = 0; i < 24; ++i) set_element(arena, 0, i, 1.0f);
  REQUIRE(sandbox.call(request("double_it", {pointer(0, 16)}), arena).outcome ==
          SandboxOutcome::kReturned);
  for (std::size_t i = 0; i < 24; ++i) {
    CHECK(element<float>(arena, 0, i) == (i >= 4 && i < 12 ? 2.0f : 1.0f));
  }
}

TEST_CASE("an OpenMP region sees the number of threads that was asked for") {
  Sandbox sandbox(runner_options());
  for (const int threads : {1, 2, 5}) {
    Arena arena = make_arena({{.size_bytes = 16}});
    SandboxRequest call = request("team_size", {pointer(0)});
    call.threads = threads;
    REQUIRE(sandbox.call(call, arena).outcome == SandboxOutcome::kReturned);
    CHECK(element<std::int64_t>(arena, 0, 0) == threads);
    CHECK(element<std::int64_t>(arena, 0, 1) == threads * (threads - 1) / 2);
  }
}

TEST_CASE("a number of threads in the kernel's own source wins") {
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 16}});
  REQUIRE(sandbox.call(request("team_of_three", {pointer(0)}), arena).outcome ==
          SandboxOutcome::kReturned);
  CHECK(element<std::int64_t>(arena, 0, 0) == 3);
}

TEST_CASE("flush-to-zero is as the request says, in the threads of the call too") {
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 8}});
  SandboxRequest call = request("make_subnormal", {pointer(0)});
  REQUIRE(sandbox.call(call, arena).outcome == SandboxOutcome::kReturned);
  CHECK(element<float>(arena, 0, 0) == std::ldexp(1.0f, -127));
  CHECK(element<float>(arena, 0, 1) == std::ldexp(1.0f, -127));

  call.mxcsr = 0x9fc0;  // flush to zero and denormals are zero
  const SandboxReport report = sandbox.call(call, arena);
  REQUIRE(report.outcome == SandboxOutcome::kReturned);
  CHECK(report.mxcsr_after == 0x9fc0);
  CHECK(element<float>(arena, 0, 0) == 0.0f);
  CHECK(element<float>(arena, 0, 1) == 0.0f);
}

TEST_CASE("a control word that the kernel leaves changed is reported and does not spread") {
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 64}});
  const SandboxRequest call = request("leave_flush_to_zero_on", {pointer(0)});
  CHECK(sandbox.call(call, arena).mxcsr_after == (0x1f80 | 0x8000));
  CHECK(sandbox.call(request("double_it", {pointer(0)}), arena).mxcsr_after == 0x1f80);
}

TEST_CASE("a request that makes no sense is refused and the runner lives on") {
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 64}});
  SandboxRequest no_threads = request("double_it", {pointer(0)});
  no_threads.threads = 0;
  SandboxRequest reserved_bits = request("double_it", {pointer(0)});
  reserved_bits.mxcsr = 0x10000;
  for (const SandboxRequest& bad :
       {request("double_it", {pointer(1)}), request("double_it", {pointer(0, -1)}),
        request("double_it", {pointer(0, 65)}), no_threads, reserved_bits}) {
    try {
      sandbox.call(bad, arena);
      FAIL("not refused");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadInput);
    }
  }
  const pid_t pid = sandbox.runner_pid().value();
  CHECK(sandbox.call(request("double_it", {pointer(0)}), arena).outcome ==
        SandboxOutcome::kReturned);
  CHECK(sandbox.runner_pid() == pid);
}
