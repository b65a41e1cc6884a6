#include "tensor/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBand = 64;  // at least; one cache line, one AVX-512 vector

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

[[noreturn]] void fail(const char* action) {
  throw Error(ErrorKind::kIo, fmt::format("cannot {} shared memory: {}", action,
                                          std::generic_category().message(errno)));
}

// Places one storage behind `begin` so that its end lies as near to the rear guard page as its
// address modulo 64 allows.
ArenaSlot place(const StorageRequest& request, std::size_t begin) {
  const std::size_t front = begin + kPage + kBand;
  const std::size_t page_end = round_up(front + request.size_bytes + 64, kPage);
  const std::size_t latest = page_end - request.size_bytes;
  const std::size_t surplus = (latest - request.address_mod_64 % 64) % 64;
  return {.offset = latest - surplus,
          .size_bytes = request.size_bytes,
          .begin = begin,
          .end = page_end + kPage};
}

std::size_t changed(const std::byte* begin, const std::byte* end, std::int64_t origin,
                    std::int64_t& first) {
  std::size_t count = 0;
  for (const std::byte* at = begin; at != end; ++at) {
    if (*at == Arena::kGuardByte) continue;
    if (count++ == 0) first = origin + (at - begin);
  }
  return count;
}

}  // namespace

Arena Arena::create(std::span<const StorageRequest> storages) {
  Arena arena;
  std::size_t end = 0;
  for (const StorageRequest& request : storages) {
    arena.slots_.push_back(place(request, end));
    end = arena.slots_.back().end;
  }
  arena.size_bytes_ = std::max(end, kPage);
  arena.fd_ = ::memfd_create("fuseproof-arena", MFD_CLOEXEC);
  if (arena.fd_ < 0) fail("create");
  if (::ftruncate(arena.fd_, static_cast<off_t>(arena.size_bytes_)) != 0) fail("size");
  arena.map(Sharing::kShared);
  arena.fill_bands();
  return arena;
}

Arena Arena::attach(int fd, const Json& description, Sharing sharing) {
  Arena arena;
  arena.fd_ = fd;
  const JsonObject object(description, "arena description");
  arena.size_bytes_ = object.size("size_bytes");
  for (const JsonObject& slot : object.objects("slots")) {
    arena.slots_.push_back({.offset = slot.size("offset"),
                            .size_bytes = slot.size("size_bytes"),
                            .begin = slot.size("begin"),
                            .end = slot.size("end")});
  }
  arena.map(sharing);
  return arena;
}

void Arena::map(Sharing sharing) {
  const int flags = sharing == Sharing::kShared ? MAP_SHARED : MAP_PRIVATE;
  void* data = ::mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, flags, fd_, 0);
  if (data == MAP_FAILED) fail("map");
  base_ = static_cast<std::byte*>(data);
}

Arena::Arena(Arena&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      size_bytes_(other.size_bytes_),
      fd_(std::exchange(other.fd_, -1)),
      slots_(std::move(other.slots_)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(fd_, other.fd_);
  std::swap(slots_, other.slots_);
  return *this;
}

Arena::~Arena() {
  if (base_ != nullptr) ::munmap(base_, size_bytes_);
  if (fd_ >= 0) ::close(fd_);
}

std::span<std::byte> Arena::storage(std::size_t index) {
  const ArenaSlot& slot = slots_[index];
  return {base_ + slot.offset, slot.size_bytes};
}

std::span<const std::byte> Arena::storage(std::size_t index) const {
  const ArenaSlot& slot = slots_[index];
  return {base_ + slot.offset, slot.size_bytes};
}

Json Arena::description() const {
  Json slots = Json::array();
  for (const ArenaSlot& slot : slots_) {
    slots.push_back({{"offset", slot.offset},
                     {"size_bytes", slot.size_bytes},
                     {"begin", slot.begin},
                     {"end", slot.end}});
  }
  return {{"size_bytes", size_bytes_}, {"slots", std::move(slots)}};
}

void Arena::fill_bands() {
  for (const ArenaSlot& slot : slots_) {
    const std::size_t front = slot.begin + kPage;
    const std::size_t rear = slot.offset + slot.size_bytes;
    std::memset(base_ + front, static_cast<int>(kGuardByte), slot.offset - front);
    std::memset(base_ + rear, static_cast<int>(kGuardByte), slot.end - kPage - rear);
  }
}

std::vector<Arena::BandDamage> Arena::damaged_bands() const {
  std::vector<BandDamage> damage;
  for (std::size_t index = 0; index < slots_.size(); ++index) {
    const ArenaSlot& slot = slots_[index];
    const std::size_t front = slot.begin + kPage;
    const std::size_t rear = slot.offset + slot.size_bytes;
    std::int64_t first = 0;
    std::size_t count =
        changed(base_ + front, base_ + slot.offset,
                static_cast<std::int64_t>(front) - static_cast<std::int64_t>(slot.offset), first);
    if (count > 0) damage.push_back({index, first, count});
    count = changed(base_ + rear, base_ + slot.end - kPage,
                    static_cast<std::int64_t>(slot.size_bytes), first);
    if (count > 0) damage.push_back({index, first, count});
  }
  return damage;
}

}  // namespace fuseproof
