#include "sandbox/runner/zygote.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "sandbox/message.h"
#include "sandbox/runner/child.h"
#include "sandbox/runner/outcome.h"
#include "sandbox/runner/supervise.h"

namespace fuseproof {
namespace {

[[noreturn]] void fail(const char* action) {
  throw Error(ErrorKind::kIo,
              fmt::format("cannot {}: {}", action, std::generic_category().message(errno)));
}

Json error_answer(const Error& error) {
  return {{"error",
           {{"kind", error_kind_info(error.kind()).name}, {"message", std::string(error.what())}}}};
}

void validate(const SandboxRequest& request, std::span<const ArenaSlot> slots) {
  const auto refuse = [&](const std::string& problem) {
    throw Error(ErrorKind::kBadInput, fmt::format("call of {} in {}: {}", request.entry,
                                                  request.object.string(), problem));
  };
  if (request.threads < 1) refuse(fmt::format("{} threads", request.threads));
  // Bits above the flush-to-zero bit are reserved: setting one is a fault of the processor.
  if (request.mxcsr > 0xffff) refuse(fmt::format("MXCSR {:#x} has reserved bits", request.mxcsr));
  for (std::size_t index = 0; index < request.arguments.size(); ++index) {
    const SandboxArgument& argument = request.arguments[index];
    if (argument.kind != SandboxArgument::Kind::kPointer) continue;
    if (argument.storage >= slots.size()) {
      refuse(
          fmt::format("argument {} names storage {} of {}", index, argument.storage, slots.size()));
    }
    const auto size_bytes = static_cast<std::int64_t>(slots[argument.storage].size_bytes);
    if (argument.byte_offset < 0 || argument.byte_offset > size_bytes) {
      refuse(fmt::format("argument {} points at byte {} of a storage of {}", index,
                         argument.byte_offset, size_bytes));
    }
  }
}

std::vector<ArenaSlot> slots_of(const JsonObject& description) {
  std::vector<ArenaSlot> slots;
  for (const JsonObject& slot : description.objects("slots")) {
    slots.push_back({.offset = slot.size("offset"),
                     .size_bytes = slot.size("size_bytes"),
                     .begin = slot.size("begin"),
                     .end = slot.size("end")});
  }
  return slots;
}

}  // namespace

Zygote::Zygote(Channel channel) : channel_(std::move(channel)) {
  void* memory = ::mmap(nullptr, sizeof(ResultBlock), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("map the result block");
  result_ = new (memory) ResultBlock();
}

Zygote::~Zygote() { ::munmap(result_, sizeof(ResultBlock)); }

void Zygote::serve() {
  while (std::optional<Channel::Message> message = channel_.receive()) {
    Json reply;
    try {
      reply = answer(std::move(*message));
    } catch (const Error& error) {
      reply = error_answer(error);
    }
    channel_.send(reply);
  }
}

Json Zygote::answer(Channel::Message message) {
  const JsonObject call = JsonObject(message.body, "request to fuseproof-runner").object("call");
  const SandboxRequest request = sandbox_request_from_json(call);
  const std::vector<ArenaSlot> slots = slots_of(call.object("arena"));
  if (message.fds.size() != 1) call.fail("arena", "comes without its memory");
  validate(request, slots);

  const FileDescriptor error_output(::memfd_create("fuseproof-stderr", MFD_CLOEXEC));
  if (error_output.get() < 0) fail("keep the stderr of a call");
  std::memset(static_cast<void*>(result_), 0, sizeof(ResultBlock));
  const ChildSetup setup{&request,
                         &call.raw("arena"),
                         message.fds[0].get(),
                         error_output.get(),
                         channel_.fd(),
                         ::getpid(),
                         result_};
  const pid_t child = ::fork();
  if (child < 0) fail("fork a process for the call");
  if (child == 0) run_child(setup);
  const ChildEnd end = supervise(child, channel_.fd(), request.limits.wall_seconds);
  if (end.how == ChildEnd::How::kClientGone) ::_exit(0);
  return to_json(make_report(request, slots, end, *result_, error_output.get()));
}

}  // namespace fuseproof
