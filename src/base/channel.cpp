#include "base/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

constexpr std::chrono::milliseconds kCancelledWithin{50};

struct Header {
  std::uint32_t body_bytes = 0;
  std::uint32_t fd_count = 0;
};

[[noreturn]] void fail(const char* action, int error) {
  throw Error(ErrorKind::kIo, fmt::format("cannot {} the other process: {}", action,
                                          std::generic_category().message(error)));
}

[[noreturn]] void fail_torn() {
  throw Error(ErrorKind::kBadInput, "the other process ended in the middle of a message");
}

union ControlBuffer {
  cmsghdr align;
  std::array<char, CMSG_SPACE(sizeof(int) * Channel::kMaxFds)> bytes;
};

void send_all(int socket, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail("send to", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

// Sends the header and, with its first byte, the descriptors.
void send_header(int socket, Header header, std::span<const int> fds) {
  iovec data{&header, sizeof(header)};
  ControlBuffer control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  ssize_t sent;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) fail("send to", errno);
  const std::span<const char> bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  send_all(socket, bytes.subspan(static_cast<std::size_t>(sent)));
}

// Reads up to bytes.size() bytes; fewer only at the end of the stream.
std::size_t receive_all(int socket, std::span<char> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::recv(socket, bytes.data() + done, bytes.size() - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == ECONNRESET) break;
    if (got < 0) fail("receive from", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void take_rights(msghdr& message, std::vector<FileDescriptor>& fds) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
}

// Nothing at the end of the stream.
std::optional<Header> receive_header(int socket, std::vector<FileDescriptor>& fds) {
  Header header;
  iovec data{&header, sizeof(header)};
  ControlBuffer control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t got;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got == 0 || (got < 0 && errno == ECONNRESET)) return std::nullopt;
  if (got < 0) fail("receive from", errno);
  take_rights(message, fds);
  const auto received = static_cast<std::size_t>(got);
  const std::span<char> bytes(reinterpret_cast<char*>(&header), sizeof(header));
  if (receive_all(socket, bytes.subspan(received)) != sizeof(header) - received) fail_torn();
  if (header.body_bytes > Channel::kMaxBodyBytes || header.fd_count != fds.size()) {
    throw Error(ErrorKind::kBadInput,
                fmt::format("the other process sent a malformed message header ({} bytes, {} "
                            "descriptors of which {} arrived); do both come from the same build?",
                            header.body_bytes, header.fd_count, fds.size()));
  }
  return header;
}

}  // namespace

std::pair<Channel, Channel> Channel::pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("connect to", errno);
  return {Channel(ends[0]), Channel(ends[1])};
}

void Channel::send(const Json& body, std::span<const int> fds) {
  if (fds.size() > kMaxFds) {
    throw Error(ErrorKind::kInternal, fmt::format("a message carries {} file descriptors, but at "
                                                  "most {} fit",
                                                  fds.size(), kMaxFds));
  }
  const std::string text = json_text(body, -1);
  if (text.size() > kMaxBodyBytes) {
    throw Error(ErrorKind::kUnsupported, fmt::format("a message of {} bytes is longer than the "
                                                     "limit of {}",
                                                     text.size(), kMaxBodyBytes));
  }
  send_header(
      fd(), {static_cast<std::uint32_t>(text.size()), static_cast<std::uint32_t>(fds.size())}, fds);
  send_all(fd(), text);
}

std::optional<Channel::Message> Channel::receive() {
  Message message;
  const std::optional<Header> header = receive_header(fd(), message.fds);
  if (!header) return std::nullopt;
  std::string text(header->body_bytes, '\0');
  if (receive_all(fd(), text) != text.size()) fail_torn();
  message.body = parse_json(text, "message between processes");
  return message;
}

bool Channel::wait_readable(std::chrono::milliseconds timeout,
                            const IsCancelled& is_cancelled) const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + timeout;
  pollfd entry{fd(), POLLIN, 0};
  while (true) {
    if (is_cancelled && is_cancelled()) fail("wait for", ECANCELED);
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    left = std::max(left, std::chrono::milliseconds(0));
    const auto step = is_cancelled ? std::min(left, kCancelledWithin) : left;
    const int ready = ::poll(&entry, 1, static_cast<int>(step.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) fail("wait for", errno);
    if (ready > 0 || step == left) return ready > 0;
  }
}

}  // namespace fuseproof
