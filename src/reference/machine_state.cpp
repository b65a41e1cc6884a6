#include "reference/machine_state.h"

#include <dlfcn.h>
#include <immintrin.h>

#include <cstring>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/core/DefaultDtype.h>
#include <fmt/format.h>

#include "base/error.h"
#include "reference/tensors.h"

namespace fuseproof {
namespace {

constexpr std::uint32_t kStatusBits = 0x3f;

void set_mxcsr(void* value) { _mm_setcsr(*static_cast<std::uint32_t*>(value)); }

// Runs set_mxcsr on every thread of the OpenMP team that ATen's kernels use. Entered through the
// runtime that torch has loaded: -fopenmp would bring a second one with threads of its own.
void set_mxcsr_of_all_threads(std::uint32_t value) {
  using ParallelRegion = void (*)(void (*)(void*), void*, unsigned threads, unsigned flags);
  const auto parallel = reinterpret_cast<ParallelRegion>(::dlsym(RTLD_DEFAULT, "GOMP_parallel"));
  const int threads = at::get_num_threads();
  if (parallel != nullptr && threads > 1) {
    parallel(set_mxcsr, &value, static_cast<unsigned>(threads), 0);
  }
  set_mxcsr(&value);
}

void set_default_dtype(DType dtype) {
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(scalar_type(dtype)));
}

}  // namespace

MachineState::MachineState(const CallRecord& call)
    : threads_before_(at::get_num_threads()),
      mxcsr_before_(_mm_getcsr()),
      default_dtype_before_(dtype_of(c10::get_default_dtype_as_scalartype())),
      precision_before_(float32_precision()) {
  if (call.threads > 0 && call.threads != threads_before_) at::set_num_threads(call.threads);
  if (((call.mxcsr ^ mxcsr_before_) & ~kStatusBits) != 0) set_mxcsr_of_all_threads(call.mxcsr);
  set_default_dtype(call.default_dtype);
  set_float32_precision(call.float32_precision);
}

MachineState::~MachineState() {
  set_float32_precision(precision_before_);
  set_default_dtype(default_dtype_before_);
  if (((_mm_getcsr() ^ mxcsr_before_) & ~kStatusBits) != 0) set_mxcsr_of_all_threads(mxcsr_before_);
  if (threads_before_ != at::get_num_threads()) at::set_num_threads(threads_before_);
}

std::map<std::string, std::string> float32_precision() {
  std::map<std::string, std::string> precision;
  for (const char* op : {"matmul", "conv", "rnn"}) {
    precision[op] = at::precision2str(
        at::globalContext().float32Precision(at::Float32Backend::MKLDNN, at::str2op(op)));
  }
  return precision;
}

void set_float32_precision(const std::map<std::string, std::string>& precision) {
  for (const auto& [op, value] : precision) {
    at::globalContext().setFloat32Precision(at::Float32Backend::MKLDNN, at::str2op(op),
                                            at::str2precision(value));
  }
}

void set_generator(std::span<const std::byte> state) {
  const at::Tensor bytes = at::empty({std::ssize(state)}, at::kByte);
  if (!state.empty()) std::memcpy(bytes.mutable_data_ptr(), state.data(), state.size());
  try {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    generator.set_state(bytes);
  } catch (const c10::Error& error) {
    throw Error(ErrorKind::kBadInput,
                fmt::format("the call's generator state is not one of this torch: {}",
                            error.what_without_backtrace()));
  }
}

}  // namespace fuseproof
