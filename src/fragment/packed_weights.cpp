#include "fragment/packed_weights.h"

namespace fuseproof {

Node with_plain_weights(const Node& call) {
  // mkl._mkl_linear(x, packed weight, weight, bias, batch)
  constexpr std::size_t kArguments = 5;
  if (call.target != "mkl._mkl_linear.default" || call.arguments.size() != kArguments) return call;
  Node linear = call;
  linear.target = "aten.linear.default";
  linear.arguments = {call.arguments[0], call.arguments[2], call.arguments[3]};
  return linear;
}

}  // namespace fuseproof
