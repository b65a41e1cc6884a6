// What the tests of the sandbox share: an arena of given sizes and calls into the fixture's
// kernels.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "base/error.h"
#include "sandbox/sandbox.h"

namespace fuseproof::test {

inline SandboxOptions runner_options() {
  return {.runner = FUSEPROOF_TEST_RUNNER, .torch_lib = ""};
}

inline Arena make_arena(std::vector<StorageRequest> storages) { return Arena::create(storages); }

inline SandboxArgument pointer(std::size_t storage, std::int64_t byte_offset = 0) {
  return {.kind = SandboxArgument::Kind::kPointer, .storage = storage, .byte_offset = byte_offset};
}
inline SandboxArgument integer(std::int64_t value) {
  return {.kind = SandboxArgument::Kind::kInteger, .integer = value};
}
inline SandboxArgument single_precision(double value) {
  return {.kind = SandboxArgument::Kind::kFloat, .number = value};
}
inline SandboxArgument double_precision(double value) {
  return {.kind = SandboxArgument::Kind::kDouble, .number = value};
}

inline SandboxRequest request(const char* entry, std::vector<SandboxArgument> arguments) {
  SandboxRequest result;
  result.object = FUSEPROOF_TEST_FIXTURE;
  result.entry = entry;
  result.arguments = std::move(arguments);
  return result;
}

// Calls an entry that takes one pointer, on an arena of its own.
inline SandboxReport call_alone(const SandboxRequest& request) {
  Sandbox sandbox(runner_options());
  Arena arena = make_arena({{.size_bytes = 64}});
  return sandbox.call(request, arena);
}
inline SandboxReport call_alone(const char* entry) {
  return call_alone(request(entry, {pointer(0)}));
}

template <typename T>
T element(const Arena& arena, std::size_t storage, std::size_t index) {
  T value;
  std::memcpy(&value, arena.storage(storage).data() + index * sizeof(T), sizeof(T));
  return value;
}
template <typename T>
void set_element(Arena& arena, std::size_t storage, std::size_t index, T value) {
  std::memcpy(arena.storage(storage).data() + index * sizeof(T), &value, sizeof(T));
}

}  // namespace fuseproof::test
