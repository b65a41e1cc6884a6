#include "base/channel.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "base/error.h"

namespace fuseproof {
namespace {

TEST_CASE("messages arrive whole, in order and in both directions") {
  auto [left, right] = Channel::pair();
  left.send({{"n", 1}});
  left.send({{"n", 2}, {"text", "ä"}});
  CHECK(right.receive()->body == Json{{"n", 1}});
  CHECK(right.receive()->body == Json{{"n", 2}, {"text", "ä"}});
  right.send(Json::array());
  CHECK(left.receive()->body == Json::array());
}

TEST_CASE("waiting ends when nobody wants the answer any more") {
  auto [left, right] = Channel::pair();
  int asked = 0;
  const auto is_cancelled = [&asked] { return ++asked == 3; };
  CHECK_THROWS_AS(right.wait_readable(std::chrono::minutes(10), is_cancelled), Error);
  CHECK(asked == 3);
}

TEST_CASE("a message larger than the socket's buffer arrives") {
  auto [left, right] = Channel::pair();
  const std::string text(5'000'000, 'x');
  std::thread sender([&left = left, &text] { left.send(text); });
  const auto message = right.receive();
  sender.join();
  CHECK(message->body == Json(text));
}

TEST_CASE("descriptors travel with their message and are closed on exec") {
  auto [left, right] = Channel::pair();
  const FileDescriptor first(::memfd_create("first", MFD_CLOEXEC));
  const FileDescriptor second(::memfd_create("second", MFD_CLOEXEC));
  REQUIRE(::write(second.get(), "two", 3) == 3);
  const int fds[] = {first.get(), second.get()};
  left.send({{"with", "fds"}}, fds);
  left.send({{"with", "none"}});
  const auto message = right.receive();
  REQUIRE(message->fds.size() == 2);
  char content[4] = {};
  CHECK(::pread(message->fds[1].get(), content, 3, 0) == 3);
  CHECK(std::string(content) == "two");
  CHECK((::fcntl(message->fds[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(right.receive()->fds.empty());
}

TEST_CASE("a closed peer ends the stream between messages") {
  auto [left, right] = Channel::pair();
  left.send({{"last", true}});
  left.close();
  CHECK(right.receive().has_value());
  CHECK(!right.receive().has_value());
}

TEST_CASE("sending to a closed peer is an error and no signal") {
  auto [left, right] = Channel::pair();
  right.close();
  try {
    left.send(1);
    FAIL("the message was sent");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kIo);
  }
}

TEST_CASE("a peer that ends within a message is an error") {
  auto [left, right] = Channel::pair();
  SUBCASE("in the header") { REQUIRE(::write(left.fd(), "\x05\0", 2) == 2); }
  SUBCASE("in the body") { REQUIRE(::write(left.fd(), "\x05\0\0\0\0\0\0\0ab", 10) == 10); }
  left.close();
  try {
    right.receive();
    FAIL("half a message was taken for a whole one");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadInput);
  }
}

TEST_CASE("foreign bytes are refused") {
  auto [left, right] = Channel::pair();
  SUBCASE("an absurd size") { REQUIRE(::write(left.fd(), "GET / HTTP/1.1\r\n", 16) == 16); }
  SUBCASE("a descriptor count without descriptors") {
    REQUIRE(::write(left.fd(), "\x02\0\0\0\x01\0\0\0[]", 10) == 10);
  }
  SUBCASE("no JSON") { REQUIRE(::write(left.fd(), "\x02\0\0\0\0\0\0\0{{", 10) == 10); }
  CHECK_THROWS_AS(right.receive(), Error);
}

TEST_CASE("text that is not UTF-8 is replaced, not refused") {
  auto [left, right] = Channel::pair();
  left.send({{"what", "bad \xff byte"}});
  CHECK(right.receive()->body["what"] == "bad \xef\xbf\xbd byte");
}

TEST_CASE("waiting ends when the time is over, a message is there or the peer is gone") {
  using std::chrono::milliseconds;
  auto [left, right] = Channel::pair();
  CHECK(!right.wait_readable(milliseconds(1)));
  left.send(1);
  CHECK(right.wait_readable(milliseconds(10'000)));
  right.receive();
  left.close();
  CHECK(right.wait_readable(milliseconds(10'000)));
  CHECK(!right.receive().has_value());
}

void ignore_signal(int) {}

TEST_CASE("signals do not cut messages") {
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = ignore_signal;  // without SA_RESTART: system calls return EINTR
  ::sigaction(SIGUSR1, &action, &before);
  auto [left, right] = Channel::pair();
  const std::string text(3'000'000, 'y');
  std::thread sender([&left = left, &text] { left.send(text); });
  const pthread_t target = sender.native_handle();
  for (int i = 0; i < 20; ++i) ::pthread_kill(target, SIGUSR1);
  const auto message = right.receive();
  sender.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  CHECK(message->body == Json(text));
}

}  // namespace
}  // namespace fuseproof
