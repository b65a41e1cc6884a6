#include "reference/client/shared_progress.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

constexpr std::size_t kSizeBytes = sizeof(std::atomic<std::int64_t>);
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "shared between processes");

[[noreturn]] void fail() {
  throw Error(ErrorKind::kIo, fmt::format("cannot share memory with the reference worker: {}",
                                          std::generic_category().message(errno)));
}

}  // namespace

SharedProgress::SharedProgress(FileDescriptor fd) : fd_(std::move(fd)) {
  void* memory = ::mmap(nullptr, kSizeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (memory == MAP_FAILED) fail();
  // The memfd's zero bytes, or what the other process stored, are the object already.
  node_ = static_cast<std::atomic<std::int64_t>*>(memory);
}

SharedProgress SharedProgress::create() {
  FileDescriptor fd(::memfd_create("fuseproof-progress", MFD_CLOEXEC));
  if (fd.get() < 0 || ::ftruncate(fd.get(), kSizeBytes) != 0) fail();
  SharedProgress progress(std::move(fd));
  progress.node().store(kIdle);
  return progress;
}

SharedProgress SharedProgress::attach(int fd) { return SharedProgress(FileDescriptor(fd)); }

SharedProgress::SharedProgress(SharedProgress&& other) noexcept
    : fd_(std::move(other.fd_)), node_(std::exchange(other.node_, nullptr)) {}

SharedProgress::~SharedProgress() {
  if (node_ != nullptr) ::munmap(node_, kSizeBytes);
}

}  // namespace fuseproof
