// fuseproof-reference: runs fragments op by op through ATen for a process that does not link torch.
// Started by ReferenceClient with one end of a socket pair; ends when the other end is closed.
#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "base/channel.h"
#include "base/error.h"
#include "reference/client/protocol.h"
#include "reference/client/shared_progress.h"
#include "reference/python_operator.h"
#include "reference/worker/program_cache.h"

namespace fuseproof {
namespace {

namespace protocol = reference_protocol;

constexpr std::size_t kKeptPrograms = 1024;

struct WorkerArguments {
  std::optional<int> channel;
  std::optional<int> progress;
  PythonWorkerOptions python;
};

std::optional<int> parse_descriptor(std::string_view text) {
  int fd = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fd);
  if (error != std::errc() || end != text.data() + text.size() || fd < 0) return std::nullopt;
  return fd;
}

WorkerArguments parse_arguments(int count, char** values) {
  WorkerArguments arguments;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view option = values[i];
    if (option == "--channel") arguments.channel = parse_descriptor(values[i + 1]);
    if (option == "--progress") arguments.progress = parse_descriptor(values[i + 1]);
    if (option == "--python") arguments.python.python = values[i + 1];
    if (option == "--import") arguments.python.imports.emplace_back(values[i + 1]);
  }
  return arguments;
}

class Worker {
 public:
  Worker(int channel, SharedProgress* progress, PythonWorkerOptions python)
      : channel_(channel), progress_(progress), python_(std::move(python)) {}

  void serve() {
    while (std::optional<Channel::Message> message = channel_.receive()) {
      try {
        answer(*message);
      } catch (const Error& error) {
        channel_.send(protocol::error_to_json(error));
      } catch (const std::exception& error) {
        channel_.send(protocol::error_to_json(Error(ErrorKind::kInternal, error.what())));
      }
    }
  }

 private:
  void answer(Channel::Message& message) {
    protocol::RunRequest request = protocol::run_request_from_json(message.body);
    if (message.fds.size() != 1) {
      throw Error(ErrorKind::kBadInput, "a request to the reference worker came without its arena");
    }
    const Arena inputs =
        Arena::attach(message.fds[0].release(), request.arena, Arena::Sharing::kShared);
    const std::shared_ptr<const FragmentProgram> program = prepare(request);
    if (program == nullptr) {
      channel_.send(protocol::unknown_program_to_json());
      return;
    }
    const ReferenceResult result = program->run(
        request.call, inputs, request.modes, progress_ != nullptr ? &progress_->node() : nullptr);
    if (progress_ != nullptr) progress_->node().store(SharedProgress::kIdle);
    const int fd = result.arena->fd();
    channel_.send(protocol::result_to_json(result), std::span(&fd, 1));
  }

  std::shared_ptr<const FragmentProgram> prepare(const protocol::RunRequest& request) {
    std::shared_ptr<const FragmentProgram> program = cache_.find(request.program);
    if (program != nullptr || !request.fragment) return program;
    const JsonObject document(*request.fragment, "fragment");
    program = std::make_shared<FragmentProgram>(fragment_from_json(document), &python_);
    cache_.insert(request.program, program);
    return program;
  }

  Channel channel_;
  SharedProgress* progress_;
  PythonOperators python_;
  ProgramCache cache_{kKeptPrograms};
};

}  // namespace
}  // namespace fuseproof

int main(int count, char** values) {
  const fuseproof::WorkerArguments arguments = fuseproof::parse_arguments(count, values);
  if (!arguments.channel) {
    std::fputs(
        "fuseproof-reference is started by fuseproof: --channel FD [--progress FD] "
        "[--python PROGRAM] [--import MODULE]…\n",
        stderr);
    return fuseproof::error_kind_info(fuseproof::ErrorKind::kUsage).exit_status;
  }
  // Ctrl-C in a terminal reaches the whole process group; the client decides what it means.
  std::signal(SIGINT, SIG_IGN);
  try {
    std::optional<fuseproof::SharedProgress> progress;
    if (arguments.progress) {
      progress.emplace(fuseproof::SharedProgress::attach(*arguments.progress));
    }
    fuseproof::Worker(*arguments.channel, progress ? &*progress : nullptr, arguments.python)
        .serve();
    return 0;
  } catch (const fuseproof::Error& error) {
    std::fprintf(stderr, "fuseproof-reference: %s\n", error.what());
    return fuseproof::error_kind_info(error.kind()).exit_status;
  }
}
