// Messages between two processes of Fuseproof over a Unix stream socket: a JSON document and file
// descriptors (of arenas).
//
// On the wire: body size (uint32), number of descriptors (uint32), both in the machine's byte
// order, then the body as UTF-8 JSON. The descriptors travel (SCM_RIGHTS) with the header's first
// byte. Rejected: SOCK_SEQPACKET, whose messages are limited by the socket buffer.
//
// Every failure of the operating system is Error(kIo); a foreign or torn message is kBadInput.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/json.h"

namespace fuseproof {

// Asked now and then by whoever waits for long; true: nobody wants the answer any more.
using IsCancelled = std::function<bool()>;

class Channel {
 public:
  struct Message {
    Json body;
    std::vector<FileDescriptor> fds;  // close-on-exec
  };

  static constexpr std::size_t kMaxFds = 16;
  static constexpr std::size_t kMaxBodyBytes = std::size_t{1} << 30;

  // Takes ownership of one end of a connected stream socket.
  explicit Channel(int fd) : socket_(fd) {}

  // Two connected ends, both close-on-exec: ChildProcess passes one on by naming it as kept.
  static std::pair<Channel, Channel> pair();

  // Blocks until the whole message is in the socket's buffer. The descriptors stay the caller's.
  // A closed peer is an Error, never SIGPIPE.
  void send(const Json& body, std::span<const int> fds = {});

  // Blocks until a message is there. Nothing: the peer closed its end between two messages. A peer
  // that ends within a message is an Error.
  std::optional<Message> receive();

  // Whether receive() would find something (a message, its beginning, or the end) within the time.
  // Throws kIo soon after `is_cancelled` has begun to say true.
  bool wait_readable(std::chrono::milliseconds timeout, const IsCancelled& is_cancelled = {}) const;

  int fd() const { return socket_.get(); }
  // Closes this end early; the peer's receive() returns nothing.
  void close() { socket_.close(); }

 private:
  FileDescriptor socket_;
};

}  // namespace fuseproof
