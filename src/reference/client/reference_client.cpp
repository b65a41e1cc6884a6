#include "reference/client/reference_client.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "base/channel.h"
#include "base/error.h"
#include "reference/client/protocol.h"
#include "reference/client/shared_progress.h"
#include "tensor/hash.h"

namespace fuseproof {
namespace {

constexpr int kLoaderFailed = 127;  // exit status of the dynamic loader

// For a worker that has closed its end of the channel to end.
constexpr std::chrono::seconds kGrace{10};

constexpr std::string_view kHowToInstall =
    "The reference runs operators through PyTorch: install it (pip install torch==2.13.0) in the "
    "environment of Fuseproof, and Fuseproof's package built with it.";

struct Worker {
  ChildProcess process;
  Channel channel;
  std::set<std::string> known_programs;
  bool has_answered = false;
};

std::string node_text(const Graph& graph, std::int64_t index) {
  if (index < 0 || index >= std::ssize(graph.nodes)) return "";
  const Node& node = graph.nodes[index];
  return fmt::format(" while it ran node `{}`: {}", node.name, to_string(node));
}

}  // namespace

struct ReferenceClient::State {
  explicit State(ReferenceClientOptions given) : options(std::move(given)) {}

  ReferenceClientOptions options;
  std::mutex mutex;
  SharedProgress progress = SharedProgress::create();
  std::optional<Worker> worker;

  void start();
  std::vector<std::string> arguments(int channel) const;
  Channel::Message exchange(const reference_protocol::RunRequest& request, const Arena& inputs,
                            const Graph& graph);
  [[noreturn]] void fail_dead(const Graph& graph);
  [[noreturn]] void fail_late(const Graph& graph);
};

std::vector<std::string> ReferenceClient::State::arguments(int channel) const {
  std::vector<std::string> arguments = {"--channel", std::to_string(channel), "--progress",
                                        std::to_string(progress.fd())};
  if (!options.python.empty()) {
    arguments.insert(arguments.end(), {"--python", options.python.string()});
  }
  for (const std::string& module : options.imports) {
    arguments.insert(arguments.end(), {"--import", module});
  }
  return arguments;
}

void ReferenceClient::State::start() {
  if (worker && !worker->process.poll()) return;
  worker.reset();
  auto [own, theirs] = Channel::pair();
  std::vector<EnvironmentChange> environment = options.environment;
  std::ranges::copy(quiet_openmp(), std::back_inserter(environment));
  progress.node().store(SharedProgress::kIdle);
  try {
    worker.emplace(Worker{.process = ChildProcess::spawn({.program = options.worker,
                                                          .arguments = arguments(theirs.fd()),
                                                          .kept_fds = {theirs.fd(), progress.fd()},
                                                          .environment = environment,
                                                          .child_stdout = ChildStdout::kToStderr}),
                          .channel = std::move(own),
                          .known_programs = {}});
  } catch (const Error& error) {
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("the reference worker is not available: {}. {}", error.what(), kHowToInstall));
  }
}

void ReferenceClient::State::fail_dead(const Graph& graph) {
  const ExitStatus status = worker->process.wait_or_kill(kGrace);
  const bool is_unloadable = !worker->has_answered && status.code == kLoaderFailed;
  worker.reset();
  if (is_unloadable) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("the reference worker {} could not load its libraries (its message is "
                            "on stderr). {}",
                            options.worker.string(), kHowToInstall));
  }
  throw Error(ErrorKind::kInternal, fmt::format("the reference worker {}{}", to_string(status),
                                                node_text(graph, progress.node().load())));
}

void ReferenceClient::State::fail_late(const Graph& graph) {
  worker.reset();
  throw Error(ErrorKind::kInternal,
              fmt::format("the reference worker was stopped after {} s{}",
                          options.time_limit.count(), node_text(graph, progress.node().load())));
}

Channel::Message ReferenceClient::State::exchange(const reference_protocol::RunRequest& request,
                                                  const Arena& inputs, const Graph& graph) {
  const int fd = inputs.fd();
  try {
    worker->channel.send(to_json(request), std::span(&fd, 1));
    if (!worker->channel.wait_readable(options.time_limit, options.is_cancelled)) fail_late(graph);
    std::optional<Channel::Message> reply = worker->channel.receive();
    if (reply) {
      worker->has_answered = true;
      return *std::move(reply);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo && error.kind() != ErrorKind::kBadInput) throw;
    worker->process.kill(SIGKILL);
  }
  fail_dead(graph);
}

ReferenceClient::ReferenceClient(ReferenceClientOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}

ReferenceClient::~ReferenceClient() = default;

void ReferenceClient::start() {
  const std::scoped_lock lock(state_->mutex);
  try {
    state_->start();
  } catch (const Error&) {
    // The first request tries again, and says what is wrong.
  }
}

ReferenceResult ReferenceClient::run(const Fragment& fragment, const CallRecord& call,
                                     const Arena& inputs, const std::vector<ReferenceMode>& modes) {
  const std::scoped_lock lock(state_->mutex);
  state_->start();
  Json document = to_json(fragment);
  reference_protocol::RunRequest request{.program = xxh128_hex(json_text(document, -1)),
                                         .fragment = std::nullopt,
                                         .call = call,
                                         .arena = inputs.description(),
                                         .modes = modes};
  const bool is_known = state_->worker->known_programs.contains(request.program);
  if (!is_known) request.fragment = document;
  Channel::Message reply = state_->exchange(request, inputs, fragment.graph);
  if (is_known && reference_protocol::is_unknown_program(reply.body)) {
    request.fragment = std::move(document);
    reply = state_->exchange(request, inputs, fragment.graph);
  }
  ReferenceResult result = reference_protocol::result_from_message(reply);
  state_->worker->known_programs.insert(request.program);
  return result;
}

}  // namespace fuseproof
