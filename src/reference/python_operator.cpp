#include "reference/python_operator.h"

#include <immintrin.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include "base/error.h"
#include "reference/machine_state.h"
#include "reference/python_values.h"
#include "reference/tensors.h"

namespace fuseproof {
namespace {

constexpr const char* kWhere = "reply of the Python worker";

// What an operator's result may hang on, as it is for the calling thread.
Json calling_state() {
  constexpr unsigned kFlushToZero = 0x8000;
  const auto default_dtype = c10::typeMetaToScalarType(c10::get_default_dtype());
  return {{"threads", at::get_num_threads()},
          {"flushes_denormals", (_mm_getcsr() & kFlushToZero) != 0},
          {"grad_mode", at::GradMode::is_enabled()},
          {"default_dtype", dtype_name(dtype_of(default_dtype))},
          {"float32_precision", float32_precision()}};
}

[[noreturn]] void raise(const JsonObject& reply) {
  const std::string message = reply.string("message");
  if (reply.boolean("is_unimplemented")) C10_THROW_ERROR(NotImplementedError, message);
  C10_THROW_ERROR(Error, message);
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

}  // namespace

PythonOperator::PythonOperator(std::string target, Json subgraph_call,
                               std::shared_ptr<PythonWorker> worker)
    : target_(std::move(target)),
      subgraph_call_(std::move(subgraph_call)),
      worker_(std::move(worker)) {
  Json request = {{"request", "describe"}, {"target", target_}};
  if (calls_subgraphs()) request["subgraph_call"] = subgraph_call_;
  const PythonWorker::Reply reply = worker_->ask(request, nullptr);
  const JsonObject body(reply.body, kWhere);
  schema_ =
      std::make_shared<const c10::FunctionSchema>(torch::jit::parseSchema(body.string("schema")));
  draws_random_numbers_ = body.boolean("draws_random_numbers");
}

void PythonOperator::call(torch::jit::Stack& stack) const {
  const std::vector<c10::Argument>& parameters = schema_->arguments();
  PythonArguments arguments;
  Json values = Json::array();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const c10::IValue& value = torch::jit::peek(stack, i, parameters.size());
    values.push_back(arguments.write(value, parameters[i].real_type()));
  }
  // Both processes draw from one stream of random numbers: the state goes there and comes back.
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor generator_state = generator.get_state();
  Json state = calling_state();
  state["generator"] = arguments.write(generator_state, c10::TensorType::get());
  const Arena arena = arguments.to_arena();
  Json request = {{"request", "call"},
                  {"target", target_},
                  {"arguments", std::move(values)},
                  {"state", std::move(state)},
                  {"arena", arena.description()}};
  if (calls_subgraphs()) request["subgraph_call"] = subgraph_call_;
  PythonWorker::Reply reply = worker_->ask(request, &arena);
  const JsonObject body(reply.body, kWhere);
  if (body.string("reply") == "raised") raise(body);
  arguments.take_writes(generator_state, arena);
  generator.set_state(generator_state);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!is_written(parameters[i])) continue;
    arguments.take_writes(torch::jit::peek(stack, i, parameters.size()), arena);
  }
  const Json& results = body.raw("results");
  const std::vector<c10::Argument>& returns = schema_->returns();
  if (!results.is_array() || results.size() != returns.size()) {
    body.fail("results", fmt::format("does not hold {} results", returns.size()));
  }
  std::shared_ptr<Arena> memory;
  if (reply.arena) memory = std::make_shared<Arena>(*std::move(reply.arena));
  torch::jit::drop(stack, parameters.size());
  for (std::size_t i = 0; i < returns.size(); ++i) {
    stack.push_back(python_result(results[i], returns[i].type(), arguments, memory));
  }
}

std::shared_ptr<const PythonOperator> PythonOperators::find(const std::string& target) {
  const auto found = known_.find(target);
  if (found != known_.end()) return found->second;
  auto found_now = std::make_shared<const PythonOperator>(target, Json(), worker_);
  known_.emplace(target, found_now);
  return found_now;
}

std::shared_ptr<const PythonOperator> PythonOperators::make(const SubgraphCall& call) {
  return std::make_shared<const PythonOperator>(call.operands.target, call.call, worker_);
}

}  // namespace fuseproof
