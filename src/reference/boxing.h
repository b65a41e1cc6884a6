// Turns a plain C++ function over tensors and numbers into one over the dispatcher's stack.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

namespace fuseproof {

template <typename Result, typename... Arguments, std::size_t... kIndices>
void call_on_stack(Result (*function)(Arguments...), torch::jit::Stack& stack,
                   std::index_sequence<kIndices...>) {
  constexpr std::size_t kCount = sizeof...(Arguments);
  Result result =
      function(torch::jit::peek(stack, kIndices, kCount).template to<std::decay_t<Arguments>>()...);
  torch::jit::drop(stack, kCount);
  if constexpr (std::is_same_v<Result, std::tuple<at::Tensor, at::Tensor>>) {
    torch::jit::push(stack, std::get<0>(std::move(result)), std::get<1>(std::move(result)));
  } else {
    torch::jit::push(stack, std::move(result));
  }
}

template <typename Result, typename... Arguments>
void call_on_stack(Result (*function)(Arguments...), torch::jit::Stack& stack) {
  call_on_stack(function, stack, std::index_sequence_for<Arguments...>());
}

template <auto kFunction>
void boxed(torch::jit::Stack& stack) {
  call_on_stack(kFunction, stack);
}

}  // namespace fuseproof
