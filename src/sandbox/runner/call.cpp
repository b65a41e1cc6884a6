#include "sandbox/runner/call.h"

#include <cxxabi.h>
#include <ffi.h>
#include <time.h>
#include <xmmintrin.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <typeinfo>
#include <vector>

#include "base/error.h"

namespace fuseproof {
namespace {

constexpr std::uint32_t kMxcsrStatusBits = 0x3f;

union Slot {
  void* pointer;
  std::int64_t integer;
  float single_precision;
  double double_precision;
};

ffi_type* ffi_type_of(SandboxArgument::Kind kind) {
  switch (kind) {
    case SandboxArgument::Kind::kPointer: return &ffi_type_pointer;
    case SandboxArgument::Kind::kInteger: return &ffi_type_sint64;
    case SandboxArgument::Kind::kFloat: return &ffi_type_float;
    case SandboxArgument::Kind::kDouble: return &ffi_type_double;
  }
  throw Error(ErrorKind::kInternal, "an argument has no kind");
}

Slot slot_of(const SandboxArgument& argument, Arena& arena) {
  Slot slot = {};
  switch (argument.kind) {
    case SandboxArgument::Kind::kPointer:
      slot.pointer = arena.storage(argument.storage).data() + argument.byte_offset;
      break;
    case SandboxArgument::Kind::kInteger: slot.integer = argument.integer; break;
    case SandboxArgument::Kind::kFloat:
      slot.single_precision = static_cast<float>(argument.number);
      break;
    case SandboxArgument::Kind::kDouble: slot.double_precision = argument.number; break;
  }
  return slot;
}

std::string current_exception_type() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "unknown";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : type->name();
}

std::int64_t now_ns() {
  timespec time = {};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

}  // namespace

CallResult call_entry(void* entry, std::span<const SandboxArgument> arguments, Arena& arena,
                      std::uint32_t mxcsr) {
  std::vector<ffi_type*> types;
  std::vector<Slot> slots;
  for (const SandboxArgument& argument : arguments) {
    types.push_back(ffi_type_of(argument.kind));
    slots.push_back(slot_of(argument, arena));
  }
  std::vector<void*> values;
  values.reserve(slots.size());
  for (Slot& slot : slots) values.push_back(&slot);
  ffi_cif interface;
  if (::ffi_prep_cif(&interface, FFI_DEFAULT_ABI, static_cast<unsigned>(types.size()),
                     &ffi_type_void, types.data()) != FFI_OK) {
    throw Error(ErrorKind::kInternal, "libffi refused the kernel's signature");
  }

  CallResult result;
  const std::uint32_t own_mxcsr = _mm_getcsr();
  const std::int64_t start_ns = now_ns();
  _mm_setcsr(mxcsr);
  try {
    ::ffi_call(&interface, FFI_FN(entry), nullptr, values.data());
  } catch (const std::exception& error) {
    result.threw = true;
    result.exception_type = current_exception_type();
    result.exception_text = error.what();
  } catch (...) {
    result.threw = true;
    result.exception_type = current_exception_type();
    result.exception_text = "an object that is no std::exception";
  }
  result.mxcsr_after = _mm_getcsr() & ~kMxcsrStatusBits;
  _mm_setcsr(own_mxcsr);
  result.time_ns = now_ns() - start_ns;
  return result;
}

}  // namespace fuseproof
