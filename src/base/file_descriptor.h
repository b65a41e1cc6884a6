// Sole owner of a file descriptor: closes it on destruction.
#pragma once

#include <unistd.h>

#include <utility>

namespace fuseproof {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = other.release();
    }
    return *this;
  }
  ~FileDescriptor() { close(); }

  int get() const { return fd_; }
  // Gives the descriptor away; the caller closes it.
  int release() { return std::exchange(fd_, -1); }
  void close() {
    if (fd_ >= 0) ::close(release());
  }

 private:
  int fd_ = -1;
};

}  // namespace fuseproof
