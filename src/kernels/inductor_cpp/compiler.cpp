#include "kernels/inductor_cpp/compiler.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace fuseproof {
namespace {

using Clock = std::chrono::steady_clock;

// For a compiler that was asked to go, or that has closed its output, to end.
constexpr std::chrono::seconds kGrace{5};
constexpr std::size_t kOutputBytes = 256 * 1024;

[[noreturn]] void fail(const char* action) {
  throw Error(ErrorKind::kIo, fmt::format("cannot {} the compiler's messages: {}", action,
                                          std::generic_category().message(errno)));
}

enum class Wait : std::uint8_t { kReadable, kLate, kCancelled };

Wait wait_readable(int fd, Clock::time_point deadline, const IsCancelled& is_cancelled) {
  constexpr std::int64_t kStepMs = 50;
  pollfd entry{fd, POLLIN, 0};
  while (true) {
    if (is_cancelled && is_cancelled()) return Wait::kCancelled;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Wait::kLate;
    const int ready = ::poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left, kStepMs)));
    if (ready > 0) return Wait::kReadable;
    if (ready < 0 && errno != EINTR) fail("wait for");
  }
}

// Reads to the end of the stream (kReadable), unless the time is up first.
Wait read_until(int fd, Clock::time_point deadline, const IsCancelled& is_cancelled,
                std::string& output) {
  std::array<char, 16384> buffer;
  while (true) {
    const Wait wait = wait_readable(fd, deadline, is_cancelled);
    if (wait != Wait::kReadable) return wait;
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read");
    if (got == 0) return Wait::kReadable;
    const std::size_t room = kOutputBytes - output.size();
    output.append(buffer.data(), std::min(static_cast<std::size_t>(got), room));
  }
}

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("-_./=+:,@%").find(c) != std::string_view::npos;
}

std::string quoted(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

CompilerRun run_compiler(const Path& compiler, const std::vector<std::string>& arguments,
                         std::chrono::seconds limit, const IsCancelled& is_cancelled) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("catch");
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  SpawnRequest request;
  request.program = compiler;
  request.arguments = arguments;
  request.environment = {{"LC_ALL", "C"}};
  request.stderr_fd = writing.get();
  request.child_stdout = ChildStdout::kToStderr;
  request.process_group = ProcessGroup::kOwn;
  ChildProcess process = ChildProcess::spawn(request);
  writing.close();
  CompilerRun run;
  const Wait end = read_until(reading.get(), Clock::now() + limit, is_cancelled, run.output);
  run.timed_out = end == Wait::kLate;
  // The driver removes its temporary files when it is asked to go; the compiler proper, its child,
  // has to be asked as well.
  if (end != Wait::kReadable) ::kill(-process.pid(), SIGTERM);
  run.status = process.wait_or_kill(kGrace);
  if (end == Wait::kCancelled) throw Error(ErrorKind::kIo, "the compiler was interrupted");
  return run;
}

std::string first_error(const std::string& output) {
  std::istringstream lines(output);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (first.empty()) first = line;
    for (const char* mark : {"error: ", "undefined reference", "cannot find"}) {
      if (line.find(mark) != std::string::npos) return line;
    }
  }
  return first;
}

std::string command_line(const Path& program, const std::vector<std::string>& arguments) {
  std::string result = quoted(program.string());
  for (const std::string& argument : arguments) result += " " + quoted(argument);
  return result;
}

}  // namespace fuseproof
