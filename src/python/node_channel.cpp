#include <signal.h>
#include <sys/prctl.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/channel.h"
#include "bindings.h"
#include "tensor/arena.h"

namespace fuseproof::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

// The Python worker's end of the channel to the reference (reference/python/python_worker.h).
class NodeChannel {
 public:
  // (address, size in bytes)
  using Storages = std::vector<std::pair<std::uintptr_t, std::size_t>>;

  // The process does not outlive the one that started it, even in the middle of a node.
  explicit NodeChannel(int fd) : channel_(fd) { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

  std::optional<std::string> receive() {
    arguments_.reset();
    std::optional<Channel::Message> message = channel_.receive();
    if (!message) return std::nullopt;
    if (message->fds.size() == 1) {
      const JsonObject body(message->body, "request to the Python worker");
      arguments_.emplace(
          Arena::attach(message->fds[0].release(), body.raw("arena"), Arena::Sharing::kShared));
    }
    return json_text(message->body, -1);
  }

  Storages storages() {
    Storages result;
    for (std::size_t i = 0; arguments_ && i < arguments_->storage_count(); ++i) {
      const std::span<std::byte> memory = arguments_->storage(i);
      result.emplace_back(reinterpret_cast<std::uintptr_t>(memory.data()), memory.size());
    }
    return result;
  }

  void send(const std::string& body) { channel_.send(parse_json(body, "reply")); }

  void send_results(const std::string& body, const Storages& storages) {
    std::vector<StorageRequest> requests;
    for (const auto& [address, size_bytes] : storages) {
      requests.push_back({.size_bytes = size_bytes, .address_mod_64 = address % 64});
    }
    Arena arena = Arena::create(requests);
    for (std::size_t i = 0; i < storages.size(); ++i) {
      const auto [address, size_bytes] = storages[i];
      if (size_bytes == 0) continue;
      std::memcpy(arena.storage(i).data(), reinterpret_cast<const void*>(address), size_bytes);
    }
    Json reply = parse_json(body, "reply");
    reply["arena"] = arena.description();
    const int fd = arena.fd();
    channel_.send(reply, std::span(&fd, 1));
  }

 private:
  Channel channel_;
  std::optional<Arena> arguments_;
};

}  // namespace

void bind_node_channel(nb::module_& module) {
  nb::class_<NodeChannel>(module, "NodeChannel", "The Python worker's end of its channel.")
      .def(nb::init<int>(), "fd"_a)
      .def("receive", &NodeChannel::receive, WithoutGil(),
           "The next request as JSON, or None at the end. Its storages live until the next call.")
      .def("storages", &NodeChannel::storages,
           "(address, size in bytes) of the request's storages.")
      .def("send", &NodeChannel::send, "body"_a, WithoutGil())
      .def("send_results", &NodeChannel::send_results, "body"_a, "storages"_a, WithoutGil(),
           "Copies what lies at (address, size in bytes), and sends it with the body.");
}

}  // namespace fuseproof::python
