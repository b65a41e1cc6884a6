#include <doctest/doctest.h>

#include "sandbox/sandbox_fixture.h"

using namespace fuseproof;
using namespace fuseproof::test;

namespace {

constexpr std::int64_t kPageBytes = 4096;
constexpr std::int64_t kFloatBytes = 4;

// The first element that lies wholly in the rear guard page of storage 0.
std::int64_t first_rear_guard_index(const Arena& arena) {
  const ArenaSlot& slot = arena.slots()[0];
  return (static_cast<std::int64_t>(slot.end - slot.offset) - kPageBytes + kFloatBytes - 1) /
         kFloatBytes;
}

struct Fixture {
  Sandbox sandbox{runner_options()};
  // An end that is no multiple of 64 leaves a band before the guard page.
  Arena arena = make_arena({{.size_bytes = 64, .address_mod_64 = 16}, {.size_bytes = 64}});
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "one element written past the end damages the band, not the call") {
  const SandboxReport report = sandbox.call(request("write_at", {pointer(0), integer(16)}), arena);
  CHECK(report.outcome == SandboxOutcome::kReturned);
  const auto damage = arena.damaged_bands();
  REQUIRE(damage.size() == 1);
  CHECK(damage[0].storage == 0);
  // 1.0f is 00 00 80 3f: four bytes that all differ from the pattern.
  CHECK(damage[0].first_byte == 64);
  CHECK(damage[0].changed_bytes == 4);
}

TEST_CASE_FIXTURE(Fixture, "behind an aligned end the first element past it is in the guard page") {
  const SandboxReport report = sandbox.call(request("write_at", {pointer(1), integer(16)}), arena);
  CHECK(report.outcome == SandboxOutcome::kReturned);
  REQUIRE(report.guard_hits.size() == 1);
  CHECK(report.guard_hits[0].storage == 1);
  CHECK(report.guard_hits[0].byte_offset == 64);
  CHECK(arena.damaged_bands().empty());
}

TEST_CASE_FIXTURE(Fixture, "a write into the rear guard page is recorded and the call goes on") {
  const std::int64_t index = first_rear_guard_index(arena);
  const SandboxReport report =
      sandbox.call(request("write_at", {pointer(0), integer(index)}), arena);
  CHECK(report.outcome == SandboxOutcome::kReturned);
  REQUIRE(report.guard_hits.size() == 1);
  CHECK(report.guard_hits[0].storage == 0);
  CHECK(report.guard_hits[0].byte_offset == index * kFloatBytes);
  CHECK(report.guard_hits[0].is_write);
}

TEST_CASE_FIXTURE(Fixture, "a write before the first byte is recorded with a negative offset") {
  const ArenaSlot& slot = arena.slots()[1];
  const std::int64_t index = -static_cast<std::int64_t>(slot.offset - slot.begin) / kFloatBytes + 1;
  const SandboxReport report =
      sandbox.call(request("write_at", {pointer(1), integer(index)}), arena);
  CHECK(report.outcome == SandboxOutcome::kReturned);
  REQUIRE(report.guard_hits.size() == 1);
  CHECK(report.guard_hits[0].storage == 1);
  CHECK(report.guard_hits[0].byte_offset == index * kFloatBytes);
  CHECK(report.guard_hits[0].is_write);
}

TEST_CASE_FIXTURE(Fixture, "a read past the end is a note and harms nothing") {
  const std::int64_t index = first_rear_guard_index(arena);
  const SandboxReport report =
      sandbox.call(request("read_at", {pointer(0), integer(index), pointer(1)}), arena);
  CHECK(report.outcome == SandboxOutcome::kReturned);
  REQUIRE(report.guard_hits.size() == 1);
  CHECK(report.guard_hits[0].byte_offset == index * kFloatBytes);
  CHECK_FALSE(report.guard_hits[0].is_write);
  CHECK(element<float>(arena, 1, 1) == 7.0f);
  CHECK(arena.damaged_bands().empty());
}

TEST_CASE_FIXTURE(Fixture, "a read of the band itself goes unseen") {
  const SandboxReport report =
      sandbox.call(request("read_at", {pointer(0), integer(16), pointer(1)}), arena);
  CHECK(report.guard_hits.empty());
  CHECK(arena.damaged_bands().empty());
}

TEST_CASE_FIXTURE(Fixture, "a read does not hide a later write to the same page") {
  const std::int64_t index = first_rear_guard_index(arena);
  const SandboxReport report =
      sandbox.call(request("read_then_write_at", {pointer(0), integer(index)}), arena);
  CHECK(report.outcome == SandboxOutcome::kReturned);
  REQUIRE(report.guard_hits.size() == 2);
  CHECK_FALSE(report.guard_hits[0].is_write);
  CHECK(report.guard_hits[1].is_write);
}

TEST_CASE_FIXTURE(Fixture, "threads that touch one guard page together give one hit") {
  SandboxRequest call =
      request("write_at_in_parallel", {pointer(0), integer(first_rear_guard_index(arena))});
  call.threads = 4;
  const SandboxReport report = sandbox.call(call, arena);
  CHECK(report.outcome == SandboxOutcome::kReturned);
  REQUIRE(report.guard_hits.size() == 1);
  CHECK(report.guard_hits[0].is_write);
}

TEST_CASE_FIXTURE(Fixture, "guard pages are whole again for the next call") {
  const std::int64_t index = first_rear_guard_index(arena);
  const SandboxRequest call = request("write_at", {pointer(0), integer(index)});
  CHECK(sandbox.call(call, arena).guard_hits.size() == 1);
  CHECK(sandbox.call(call, arena).guard_hits.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a hit is kept when the kernel crashes afterwards") {
  const SandboxReport report = sandbox.call(
      request("write_at_then_crash", {pointer(0), integer(first_rear_guard_index(arena))}), arena);
  CHECK(report.outcome == SandboxOutcome::kCrashed);
  REQUIRE(report.guard_hits.size() == 1);
  CHECK(report.guard_hits[0].is_write);
}

TEST_CASE_FIXTURE(Fixture, "a write far outside the arena is a crash and no guard hit") {
  const std::int64_t beyond_arena = static_cast<std::int64_t>(1) << 44;
  const SandboxReport report =
      sandbox.call(request("write_at", {pointer(0), integer(beyond_arena)}), arena);
  CHECK(report.outcome == SandboxOutcome::kCrashed);
  CHECK(report.guard_hits.empty());
}

TEST_CASE("a storage without bytes has guards all the same") {
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 0, .address_mod_64 = 16}});
  const SandboxReport near = sandbox.call(request("write_at", {pointer(0), integer(0)}), arena);
  CHECK(near.outcome == SandboxOutcome::kReturned);
  REQUIRE(arena.damaged_bands().size() == 1);
  CHECK(arena.damaged_bands()[0].first_byte == 0);
}
