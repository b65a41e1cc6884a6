// One number in shared memory: the graph index of the node that the reference worker runs. When the
// worker dies, its client can say at which node.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/file_descriptor.h"

namespace fuseproof {

class SharedProgress {
 public:
  static constexpr std::int64_t kIdle = -1;

  // Throws kIo.
  static SharedProgress create();
  // Maps what another process created; takes ownership of the descriptor.
  static SharedProgress attach(int fd);

  SharedProgress(SharedProgress&& other) noexcept;
  SharedProgress& operator=(SharedProgress&&) = delete;
  ~SharedProgress();

  std::atomic<std::int64_t>& node() { return *node_; }
  int fd() const { return fd_.get(); }

 private:
  explicit SharedProgress(FileDescriptor fd);

  FileDescriptor fd_;
  std::atomic<std::int64_t>* node_ = nullptr;
};

}  // namespace fuseproof
