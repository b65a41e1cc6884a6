#include "base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include <doctest/doctest.h>

#include "base/channel.h"
#include "base/error.h"
#include "base/file_descriptor.h"

namespace fuseproof {
namespace {

SpawnRequest shell(const std::string& script, std::vector<int> kept_fds = {}) {
  return {.program = "/bin/sh",
          .arguments = {"-c", script},
          .kept_fds = std::move(kept_fds),
          .environment = {},
          .child_stdout = ChildStdout::kInherit};
}

std::string content_of(int fd) {
  std::string text(1000, '\0');
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

bool exists(pid_t pid) { return ::kill(pid, 0) == 0; }

TEST_CASE("a child's exit status comes back, every time it is asked for") {
  ChildProcess child = ChildProcess::spawn(shell("exit 3"));
  CHECK(child.wait().code == 3);
  CHECK(child.wait().code == 3);
  CHECK(child.poll()->code == 3);
  CHECK(!child.wait().succeeded());
  CHECK(to_string(child.wait()) == "ended with status 3");
}

TEST_CASE("the signal that ended a child is named") {
  ChildProcess child = ChildProcess::spawn(shell("kill -SEGV $$"));
  CHECK(child.wait().signal == SIGSEGV);
  CHECK(to_string(child.wait()) == "was killed by signal 11 (Segmentation fault)");
}

TEST_CASE("a program that does not exist is bad input and names its path") {
  try {
    ChildProcess::spawn({.program = "/nonexistent/program"});
    FAIL("it was started");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadInput);
    CHECK(std::string(error.what()).find("/nonexistent/program") != std::string::npos);
  }
}

TEST_CASE("arguments are passed as they are, without a shell") {
  const FileDescriptor out(::memfd_create("out", MFD_CLOEXEC));
  SpawnRequest request = shell("printf '%s|' \"$@\" >&" + std::to_string(out.get()), {out.get()});
  request.arguments.insert(request.arguments.end(), {"sh", "a b", "$HOME", "*"});
  CHECK(ChildProcess::spawn(request).wait().succeeded());
  CHECK(content_of(out.get()) == "a b|$HOME|*|");
}

TEST_CASE("kept descriptors survive, others do not, and the parent's stay close-on-exec") {
  const FileDescriptor kept(::memfd_create("kept", MFD_CLOEXEC));
  const FileDescriptor other(::memfd_create("other", MFD_CLOEXEC));
  const std::string script = "test -e /proc/self/fd/" + std::to_string(kept.get()) +
                             " && ! test -e /proc/self/fd/" + std::to_string(other.get());
  CHECK(ChildProcess::spawn(shell(script, {kept.get()})).wait().succeeded());
  CHECK((::fcntl(kept.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("the environment is inherited with the changes asked for") {
  ::setenv("FUSEPROOF_TEST_KEPT", "1", 1);
  ::setenv("FUSEPROOF_TEST_CHANGED", "old", 1);
  ::setenv("FUSEPROOF_TEST_REMOVED", "1", 1);
  SpawnRequest request = shell(
      "test \"$FUSEPROOF_TEST_KEPT$FUSEPROOF_TEST_CHANGED\" = '1new' && "
      "test -z \"${FUSEPROOF_TEST_REMOVED+set}\"");
  request.environment = {{"FUSEPROOF_TEST_CHANGED", "new"},
                         {"FUSEPROOF_TEST_REMOVED", std::nullopt}};
  CHECK(ChildProcess::spawn(request).wait().succeeded());
}

TEST_CASE("a child's stdout can go to stderr") {
  const FileDescriptor err(::memfd_create("err", MFD_CLOEXEC));
  SpawnRequest request = shell("echo to stdout");
  request.child_stdout = ChildStdout::kToStderr;
  const FileDescriptor own_stderr(::dup(STDERR_FILENO));
  ::dup2(err.get(), STDERR_FILENO);
  const ExitStatus status = ChildProcess::spawn(request).wait();
  ::dup2(own_stderr.get(), STDERR_FILENO);
  CHECK(status.succeeded());
  CHECK(content_of(err.get()) == "to stdout\n");
}

TEST_CASE("a child that still runs has no status yet, and dies with its owner") {
  pid_t pid = -1;
  {
    ChildProcess child = ChildProcess::spawn(shell("exec sleep 1000"));
    pid = child.pid();
    CHECK(!child.poll().has_value());
    CHECK(exists(pid));
  }
  CHECK(!exists(pid));
}

TEST_CASE("a moved-from child is left alone, an assigned-over one ends") {
  ChildProcess first = ChildProcess::spawn(shell("exec sleep 1000"));
  const pid_t overwritten = first.pid();
  ChildProcess second = ChildProcess::spawn(shell("exec sleep 1000"));
  const pid_t kept = second.pid();
  first = std::move(second);
  CHECK(!exists(overwritten));
  CHECK(exists(kept));
  CHECK(first.pid() == kept);
}

TEST_CASE("a killed child's status is its signal") {
  ChildProcess child = ChildProcess::spawn(shell("exec sleep 1000"));
  child.kill(SIGTERM);
  CHECK(child.wait().signal == SIGTERM);
}

TEST_CASE("a child that ends in time keeps its own status") {
  ChildProcess child = ChildProcess::spawn(shell("exit 3"));
  CHECK(child.wait_or_kill(std::chrono::minutes(10)).code == 3);
}

TEST_CASE(
    "a child that does not end in time is killed, with what it started where it has a group") {
  ChildProcess child = ChildProcess::spawn(shell("exec sleep 1000"));
  CHECK(child.wait_or_kill(std::chrono::milliseconds(10)).signal == SIGKILL);
  auto [own, theirs] = Channel::pair();
  SpawnRequest request = shell("sleep 1000 & wait", {theirs.fd()});
  request.process_group = ProcessGroup::kOwn;
  ChildProcess leader = ChildProcess::spawn(request);
  theirs.close();
  CHECK(leader.wait_or_kill(std::chrono::milliseconds(200)).signal == SIGKILL);
  // The end of the stream: nobody holds the other end any more.
  CHECK(own.wait_readable(std::chrono::minutes(1)));
}

TEST_CASE("a child speaks over a kept channel") {
  auto [own, theirs] = Channel::pair();
  const std::string fd = std::to_string(theirs.fd());
  // The header of two bytes without descriptors, then `[]`.
  ChildProcess child = ChildProcess::spawn(
      shell("printf '\\002\\000\\000\\000\\000\\000\\000\\000[]' >&" + fd, {theirs.fd()}));
  theirs.close();
  CHECK(own.receive()->body == Json::array());
  CHECK(!own.receive().has_value());
  CHECK(child.wait().succeeded());
}

}  // namespace
}  // namespace fuseproof
