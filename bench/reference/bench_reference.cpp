// Times the reference on one fragment: bench_reference FRAGMENT.json
//
// Every input is a float32 tensor of 64 elements. For each line on stdin, a number of runs, prints
// one line with the nanoseconds of a run: of the interpreter alone, from tensors to tensors, and of
// the whole request, which maps the inputs and copies the outputs to shared memory.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include "base/error.h"
#include "base/files.h"
#include "reference/fragment_program.h"
#include "reference/interpreter.h"
#include "reference/tensors.h"

namespace fuseproof {
namespace {

constexpr std::int64_t kElements = 64;
using Clock = std::chrono::steady_clock;

struct Inputs {
  CallRecord call;
  Arena arena;
};

Inputs make_inputs(std::size_t count) {
  constexpr std::size_t kSizeBytes = kElements * sizeof(float);
  Inputs inputs{.call = {},
                .arena = Arena::create(std::vector<StorageRequest>(count, {kSizeBytes, 0}))};
  for (std::size_t i = 0; i < count; ++i) {
    float values[kElements];
    for (std::int64_t j = 0; j < kElements; ++j) values[j] = 0.01f * static_cast<float>(j + 1);
    std::memcpy(inputs.arena.storage(i).data(), values, kSizeBytes);
    inputs.call.storages.push_back(
        {.size_bytes = kSizeBytes, .address_mod_64 = 0, .blob = "", .omitted = "layout"});
    CallArgument argument;
    argument.storage = static_cast<std::int64_t>(i);
    argument.layout = {.dtype = DType::kFloat32, .shape = {kElements}, .strides = {1}};
    inputs.call.arguments.push_back(argument);
  }
  return inputs;
}

template <typename Run>
double mean_ns(int repeats, Run&& run) {
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < repeats; ++i) run();
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / repeats;
}

class Benchmark {
 public:
  explicit Benchmark(Fragment fragment)
      : inputs_(make_inputs(fragment.inputs.size())),
        program_(
            compile(fragment.graph, names_of(fragment), {fragment.outputs.at(0).node}, nullptr)),
        request_(std::move(fragment)) {
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      tensors_.push_back(view_storage(borrow_storage(inputs_.arena.storage(i)),
                                      inputs_.call.arguments[i].layout, "input"));
    }
  }

  double interpreter_ns(int repeats) {
    const at::AutoGradMode no_grad(false);
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    NativePolicy policy;
    return mean_ns(repeats, [&] {
      Environment environment(program_, {});
      for (std::size_t i = 0; i < tensors_.size(); ++i)
        environment[program_.inputs[i]] = tensors_[i];
      run(program_, environment, policy, nullptr);
    });
  }

  double request_ns(int repeats) {
    return mean_ns(repeats, [&] {
      request_.run(inputs_.call, inputs_.arena, {ReferenceMode::kNative}, nullptr);
    });
  }

 private:
  static std::vector<std::string> names_of(const Fragment& fragment) {
    std::vector<std::string> names;
    for (const FragmentInput& input : fragment.inputs) names.push_back(input.node);
    return names;
  }

  Inputs inputs_;
  Program program_;
  FragmentProgram request_;
  std::vector<at::Tensor> tensors_;
};

}  // namespace
}  // namespace fuseproof

int main(int count, char** values) {
  using namespace fuseproof;
  if (count != 2) {
    std::fputs("usage: bench_reference FRAGMENT.json, with numbers of runs on stdin\n", stderr);
    return 2;
  }
  try {
    const Json document = parse_json(real_file_system().read_text(values[1]), values[1]);
    Benchmark benchmark(fragment_from_json(JsonObject(document, values[1])));
    for (int repeats = 0; std::cin >> repeats;) {
      const double interpreter_ns = benchmark.interpreter_ns(repeats);
      std::cout << interpreter_ns << ' ' << benchmark.request_ns(repeats) << std::endl;
    }
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "bench_reference: %s\n", error.what());
    return error_kind_info(error.kind()).exit_status;
  }
}
