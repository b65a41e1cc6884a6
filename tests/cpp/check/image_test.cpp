#include "check/image.h"

#include <doctest/doctest.h>

#include "small_run.h"
#include "temporary_folder.h"

using namespace fuseproof;

namespace {

struct Loaded {
  explicit Loaded(const CallRecord& changed = {}) {
    writer = write_small_run(real_file_system(), folder.path() / "run");
    run.emplace(real_file_system(), folder.path() / "run");
    site = run->read_site(run->sites()[0]);
    call = run->read_call(site, 0);
    if (!changed.arguments.empty()) {
      const std::string blob = call.storages[0].blob;
      call = changed;
      call.storages[0].blob = blob;
    }
  }

  TemporaryFolder folder;
  std::unique_ptr<RunWriter> writer;
  std::optional<RunReader> run;
  SiteBundle site;
  CallRecord call;
};

}  // namespace

TEST_CASE("inputs hold what was recorded and outputs hold poison") {
  const Loaded loaded;
  const CallImage image(*loaded.run, loaded.site, loaded.call);
  Arena arena = Arena::create(image.requests());
  image.fill_poisoned(arena, Poison::kNan);
  CHECK(std::memcmp(arena.storage(0).data(), kInputValues.data(), 16) == 0);
  for (const std::byte byte : arena.storage(1)) CHECK(byte == std::byte{0xff});
  image.fill_poisoned(arena, Poison::kFinite);
  for (const std::byte byte : arena.storage(1)) CHECK(byte == std::byte{0x3c});
  CHECK(image.trespasses(arena, Poison::kFinite).empty());
}

TEST_CASE("a changed input and a changed gap are trespasses, told apart") {
  CallRecord call = add_call(std::string(32, 'a'));
  call.arguments[1].layout = {DType::kFloat32, {2}, {2}, 0};  // elements 0 and 2; 1 and 3 are gaps
  Loaded loaded(call);
  const CallImage image(*loaded.run, loaded.site, loaded.call);
  Arena arena = Arena::create(image.requests());
  image.fill_poisoned(arena, Poison::kNan);
  arena.storage(0)[3] = std::byte{1};
  arena.storage(1)[4] = std::byte{1};
  arena.storage(1)[0] = std::byte{1};  // an element: the kernel may write it
  const auto found = image.trespasses(arena, Poison::kNan);
  REQUIRE(found.size() == 2);
  CHECK(found[0].is_input);
  CHECK(found[0].first_byte == 3);
  CHECK_FALSE(found[1].is_input);
  CHECK(found[1].first_byte == 4);
}

TEST_CASE("where an output shares its storage with an input, the input's bytes stay") {
  CallRecord call = add_call(std::string(32, 'a'));
  call.storages.pop_back();
  call.arguments[0].layout = {DType::kFloat32, {2}, {1}, 0};
  call.arguments[1].storage = 0;
  call.arguments[1].layout = {DType::kFloat32, {3}, {1}, 1};
  Loaded loaded(call);
  const CallImage image(*loaded.run, loaded.site, loaded.call);
  Arena arena = Arena::create(image.requests());
  image.fill_poisoned(arena, Poison::kNan);
  CHECK(std::memcmp(arena.storage(0).data(), kInputValues.data(), 8) == 0);
  CHECK(arena.storage(0)[8] == std::byte{0xff});
  CHECK(image.is_poisoned(0, 8));
  CHECK_FALSE(image.is_poisoned(0, 4));
}

TEST_CASE("poison of a bool output is a bool") {
  CallRecord call = add_call(std::string(32, 'a'));
  call.arguments[1].layout = {DType::kBool, {16}, {1}, 0};
  Loaded loaded(call);
  const CallImage image(*loaded.run, loaded.site, loaded.call);
  Arena arena = Arena::create(image.requests());
  image.fill_poisoned(arena, Poison::kNan);
  CHECK(arena.storage(1)[5] == std::byte{0});
  image.fill_poisoned(arena, Poison::kFinite);
  CHECK(arena.storage(1)[5] == std::byte{1});
}

TEST_CASE("inputs that were not recorded are named with the reason") {
  CallRecord call = add_call(std::string(32, 'a'));
  Loaded loaded(call);
  loaded.call.storages[0].blob = "";
  loaded.call.storages[0].omitted = "budget";
  CHECK(CallImage(*loaded.run, loaded.site, loaded.call).missing_inputs() == "budget");
}
