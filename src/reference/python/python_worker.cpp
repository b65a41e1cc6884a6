#include "reference/python/python_worker.h"

#include <signal.h>

#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/channel.h"
#include "base/error.h"
#include "base/process.h"

namespace fuseproof {
namespace {

// For a process that has closed its end of the channel to end.
constexpr std::chrono::seconds kGrace{10};

struct Process {
  ChildProcess child;
  Channel channel;
  bool has_answered = false;
};

std::vector<std::string> arguments_of(const PythonWorkerOptions& options, int channel) {
  std::vector<std::string> arguments = {"-m", "fuseproof._python_worker", "--channel",
                                        std::to_string(channel)};
  for (const std::string& module : options.imports) {
    arguments.insert(arguments.end(), {"--import", module});
  }
  return arguments;
}

Process start(const PythonWorkerOptions& options) {
  auto [own, theirs] = Channel::pair();
  // Nothing is imported from the current directory for lying there: `-m` would put it first.
  const std::vector<EnvironmentChange> environment = {{"PYTHONSAFEPATH", "1"}};
  return {.child = ChildProcess::spawn({.program = options.python,
                                        .arguments = arguments_of(options, theirs.fd()),
                                        .kept_fds = {theirs.fd()},
                                        .environment = environment,
                                        .child_stdout = ChildStdout::kToStderr}),
          .channel = std::move(own)};
}

[[noreturn]] void unsupported(const std::string& message) {
  throw Error(ErrorKind::kUnsupported, message);
}

PythonWorker::Reply reply_of(Channel::Message& message) {
  const JsonObject body(message.body, "reply of the Python worker");
  if (body.string("reply") == "refused") unsupported(body.string("message"));
  PythonWorker::Reply reply;
  if (message.fds.size() == 1) {
    reply.arena =
        Arena::attach(message.fds[0].release(), body.raw("arena"), Arena::Sharing::kShared);
  }
  reply.body = std::move(message.body);
  return reply;
}

}  // namespace

struct PythonWorker::State {
  PythonWorkerOptions options;
  std::optional<Process> process;

  void ensure_started();
  std::optional<Channel::Message> exchange(const Json& request, std::span<const int> fds);
  [[noreturn]] void fail_dead();
  [[noreturn]] void fail_late();
};

void PythonWorker::State::ensure_started() {
  if (process && !process->child.poll()) return;
  process.reset();
  if (options.python.empty()) {
    unsupported(
        "no Python interpreter was found to run it: set FUSEPROOF_PYTHON to the one that Fuseproof "
        "and torch are installed for");
  }
  try {
    process.emplace(start(options));
  } catch (const Error& error) {
    unsupported(fmt::format("the Python worker cannot be started: {}", error.what()));
  }
}

void PythonWorker::State::fail_dead() {
  const ExitStatus status = process->child.wait_or_kill(kGrace);
  const bool has_answered = process->has_answered;
  process.reset();
  if (has_answered) unsupported(fmt::format("the Python worker {}", to_string(status)));
  unsupported(
      fmt::format("the Python worker {} before it answered (its message is on stderr). Fuseproof "
                  "and torch must be installed for {}; FUSEPROOF_PYTHON names another interpreter",
                  to_string(status), options.python.string()));
}

void PythonWorker::State::fail_late() {
  process.reset();
  unsupported(fmt::format("the Python worker was stopped after {} s", options.time_limit.count()));
}

// Nothing: the process has gone.
std::optional<Channel::Message> PythonWorker::State::exchange(const Json& request,
                                                              std::span<const int> fds) {
  try {
    process->channel.send(request, fds);
    if (!process->channel.wait_readable(options.time_limit)) fail_late();
    return process->channel.receive();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo && error.kind() != ErrorKind::kBadInput) throw;
    process->child.kill(SIGKILL);
    return std::nullopt;
  }
}

PythonWorker::PythonWorker(PythonWorkerOptions options)
    : state_(std::make_unique<State>(State{.options = std::move(options), .process = {}})) {}

PythonWorker::~PythonWorker() = default;

PythonWorker::Reply PythonWorker::ask(const Json& request, const Arena* arguments) {
  state_->ensure_started();
  std::vector<int> fds;
  if (arguments != nullptr) fds.push_back(arguments->fd());
  std::optional<Channel::Message> message = state_->exchange(request, fds);
  if (!message) state_->fail_dead();
  state_->process->has_answered = true;
  return reply_of(*message);
}

}  // namespace fuseproof
