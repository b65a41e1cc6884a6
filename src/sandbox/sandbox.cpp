#include "sandbox/sandbox.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "sandbox/message.h"

namespace fuseproof {
namespace {

// What the zygote may need beyond the wall limit of a call: to fork, to kill, to collect.
constexpr std::chrono::seconds kGrace{30};
// Loading libtorch_cpu from a cold disk.
constexpr std::chrono::seconds kStartLimit{120};
constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 20);

std::chrono::milliseconds patience(const SandboxLimits& limits) {
  if (limits.wall_seconds == 0) return kForever;
  return std::chrono::seconds(limits.wall_seconds) + kGrace;
}

// The runner reports its own errors as {"error": {"kind", "message"}}.
void throw_if_error(const Json& body) {
  const JsonObject object(body, "answer of fuseproof-runner");
  if (!object.has("error")) return;
  const JsonObject error = object.object("error");
  throw Error(error_kind_from_name(error.string("kind")), error.string("message"));
}

}  // namespace

Sandbox::Runner Sandbox::spawn() const {
  auto [ours, theirs] = Channel::pair();
  SpawnRequest request;
  request.program = options_.runner;
  request.arguments = {"--channel", std::to_string(theirs.fd())};
  if (!options_.torch_lib.empty()) {
    request.arguments.insert(request.arguments.end(), {"--torch-lib", options_.torch_lib.string()});
  }
  request.kept_fds = {theirs.fd()};
  // Kernel objects name functions of Python's that nobody calls: they must stay unresolved.
  request.environment = {{"LD_BIND_NOW", std::nullopt}};
  std::ranges::copy(quiet_openmp(), std::back_inserter(request.environment));
  request.child_stdout = ChildStdout::kToStderr;
  Runner runner{ChildProcess::spawn(request), std::move(ours)};
  theirs.close();
  return runner;
}

void Sandbox::await_ready(Runner& runner) const {
  if (!runner.channel.wait_readable(kStartLimit, options_.is_cancelled)) {
    throw Error(ErrorKind::kInternal, fmt::format("{} did not start within {} s",
                                                  options_.runner.string(), kStartLimit.count()));
  }
  const std::optional<Channel::Message> hello = runner.channel.receive();
  if (!hello) {
    throw Error(ErrorKind::kInternal,
                fmt::format("{} {} before it was ready", options_.runner.string(),
                            to_string(runner.process.wait_or_kill(kGrace))));
  }
  throw_if_error(hello->body);
  runner.is_ready = true;
}

void Sandbox::start() {
  if (!runner_) runner_.emplace(spawn());
}

std::string Sandbox::ensure_runner() {
  std::string note;
  // Between calls the zygote is silent: something to read is the end of the stream.
  if (runner_ && runner_->is_ready &&
      (runner_->process.poll() || runner_->channel.wait_readable(std::chrono::milliseconds(0)))) {
    runner_->process.kill(SIGKILL);
    note = fmt::format("fuseproof-runner {} since the last call; it was started again",
                       to_string(runner_->process.wait()));
    runner_.reset();
  }
  start();
  if (runner_->is_ready) return note;
  try {
    await_ready(*runner_);
  } catch (const Error&) {
    runner_.reset();
    throw;
  }
  return note;
}

void Sandbox::fail_dead(const SandboxRequest& request, const std::string& cause) {
  runner_.reset();
  throw Error(ErrorKind::kInternal,
              fmt::format("fuseproof-runner {} during a call of {} in {}; the result is lost, the "
                          "next call starts a new runner",
                          cause, request.entry, request.object.string()));
}

SandboxReport Sandbox::call(const SandboxRequest& request, Arena& arena) {
  std::string note = ensure_runner();
  Json body = to_json(request);
  body["arena"] = arena.description();
  const int arena_fd = arena.fd();
  std::optional<Channel::Message> answer;
  try {
    runner_->channel.send({{"call", std::move(body)}}, {&arena_fd, 1});
    if (!runner_->channel.wait_readable(patience(request.limits), options_.is_cancelled)) {
      fail_dead(request, "stopped answering");
    }
    answer = runner_->channel.receive();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal) throw;
    fail_dead(request, fmt::format("broke off ({})", error.what()));
  }
  if (!answer) fail_dead(request, to_string(runner_->process.wait_or_kill(kGrace)));
  throw_if_error(answer->body);
  SandboxReport report =
      sandbox_report_from_json(JsonObject(answer->body, "answer of fuseproof-runner"));
  report.note = std::move(note);
  return report;
}

std::optional<pid_t> Sandbox::runner_pid() const {
  if (!runner_) return std::nullopt;
  return runner_->process.pid();
}

}  // namespace fuseproof
