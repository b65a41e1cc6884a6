#include "tensor/arena.h"

#include <doctest/doctest.h>
#include <unistd.h>

using namespace fuseproof;

namespace {

std::vector<StorageRequest> requests() { return {{100, 16}, {0, 0}, {4096, 0}, {1, 63}}; }

}  // namespace

TEST_CASE("storages have the asked sizes and addresses modulo 64") {
  Arena arena = Arena::create(requests());
  REQUIRE(arena.storage_count() == 4);
  for (std::size_t i = 0; i < requests().size(); ++i) {
    CHECK(arena.storage(i).size() == requests()[i].size_bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(arena.storage(i).data()) % 64 ==
          requests()[i].address_mod_64);
  }
}

TEST_CASE("a storage ends within 64 bytes of its rear guard page, with a band before its front") {
  const Arena arena = Arena::create(requests());
  for (const ArenaSlot& slot : arena.slots()) {
    const std::size_t rear_page = slot.end - 4096;
    CHECK(slot.end % 4096 == 0);
    CHECK(rear_page - (slot.offset + slot.size_bytes) < 64);
    CHECK(slot.offset - (slot.begin + 4096) >= 64);
  }
}

TEST_CASE("intact bands are reported as such, damaged ones with place and size") {
  Arena arena = Arena::create(requests());
  CHECK(arena.damaged_bands().empty());
  arena.base()[arena.slots()[0].offset - 3] = std::byte{0};
  arena.base()[arena.slots()[0].offset + 101] = std::byte{1};
  const auto damage = arena.damaged_bands();
  REQUIRE(damage.size() == 2);
  CHECK(damage[0].storage == 0);
  CHECK(damage[0].first_byte == -3);
  CHECK(damage[1].storage == 0);
  CHECK(damage[1].first_byte == 101);
  CHECK(damage[1].changed_bytes == 1);
  arena.fill_bands();
  CHECK(arena.damaged_bands().empty());
}

TEST_CASE("another mapping of the same memory sees writes, a private one keeps its own") {
  Arena arena = Arena::create(requests());
  Arena shared = Arena::attach(::dup(arena.fd()), arena.description(), Arena::Sharing::kShared);
  Arena separate = Arena::attach(::dup(arena.fd()), arena.description(), Arena::Sharing::kPrivate);
  shared.storage(0)[5] = std::byte{42};
  CHECK(arena.storage(0)[5] == std::byte{42});
  separate.storage(0)[5] = std::byte{7};
  CHECK(arena.storage(0)[5] == std::byte{42});
}
