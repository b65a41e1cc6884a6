#include "fragment/undivided_means.h"

#include <algorithm>
#include <map>
#include <utility>

#include "fragment/nodes.h"

namespace fuseproof {
namespace {

using Sums = std::map<std::string, std::vector<std::string>>;  // mean → buffers

// The buffers that a reduction by `sum` fills and that no node is the value of, by the node that
// they are computed for.
Sums sums_without_node(const LoweredGraph& lowered) {
  std::set<std::string> known;
  for (const ValueLocation& location : lowered.locations) known.insert(location.buffer);
  Sums sums;
  for (const auto& [name, buffer] : lowered.buffers) {
    if (!buffer.sum_for.empty() && buffer.layout && !known.contains(name)) {
      sums[buffer.sum_for].push_back(name);
    }
  }
  return sums;
}

const Argument* argument_of(const Node& node, std::size_t index, const std::string& name) {
  if (index < node.arguments.size()) return &node.arguments[index];
  for (const NamedArgument& keyword : node.keywords) {
    if (keyword.name == name) return &keyword.argument;
  }
  return nullptr;
}

// The dimensions that a mean is taken over; empty: all of them.
ArgumentList dimensions(const Node& mean) {
  if (mean.target != "aten.mean.dim") return {};
  const Argument* dims = argument_of(mean, 1, "dim");
  const auto* list = dims == nullptr ? nullptr : std::get_if<ArgumentList>(&dims->value);
  return list == nullptr ? ArgumentList{} : *list;
}

// How many elements each mean is taken of.
std::optional<Size> divisor(const Node& mean, const SymbolicLayout& operand) {
  const ArgumentList dims = dimensions(mean);
  if (dims.empty()) return element_count(operand);
  const auto rank = static_cast<std::int64_t>(operand.shape.size());
  Size count = 1;
  for (const Argument& dim : dims) {
    const auto* number = std::get_if<std::int64_t>(&dim.value);
    if (number == nullptr || *number < -rank || *number >= rank) return std::nullopt;
    count = count * operand.shape[static_cast<std::size_t>((*number + rank) % rank)];
  }
  return count;
}

// A call beside `mean`, with its source line, shape and another dtype.
Node call_beside(const Node& mean, std::string suffix, DType dtype) {
  Node node = mean;
  node.name = mean.name + std::move(suffix);
  SymbolicLayout& value = *node.values[0];
  value = {dtype, value.shape, contiguous_strides(value.shape), 0};
  return node;
}

Node sum_call(const Node& mean, DType dtype) {
  Node sum = call_beside(mean, "_undivided", dtype);
  sum.target = "aten.sum.dim_IntList";
  const bool keeps = mean.target == "aten.mean.dim";
  const Argument* keepdim = keeps ? argument_of(mean, 2, "keepdim") : nullptr;
  sum.arguments = {
      mean.arguments[0], {dimensions(mean)}, keepdim == nullptr ? Argument{false} : *keepdim};
  sum.keywords = {{"dtype", dtype_constant(dtype)}};
  return sum;
}

// The calls that `mean` consists of, the last one under its name.
std::vector<Node> calls_of(const Node& mean, const Size& count, DType dtype) {
  std::vector<Node> calls = {sum_call(mean, dtype)};
  const bool is_cast = mean.values[0]->dtype != dtype;
  Node division = is_cast ? call_beside(mean, "_divided", dtype) : mean;
  const std::optional<std::int64_t> number = count.number();
  division.target = "aten.div.Scalar";
  division.arguments = {{NodeRef{calls[0].name}},
                        number ? Argument{*number} : Argument{Symbol{count.text()}}};
  division.keywords = {};
  calls.push_back(std::move(division));
  if (!is_cast) return calls;
  Node cast = mean;
  cast.target = "prims.convert_element_type.default";
  cast.arguments = {{NodeRef{calls[1].name}}, dtype_constant(mean.values[0]->dtype)};
  cast.keywords = {};
  calls.push_back(std::move(cast));
  return calls;
}

bool is_mean(const Node& node) {
  return (node.target == "aten.mean.default" || node.target == "aten.mean.dim") &&
         node.values.size() == 1 && node.values[0] && !node.arguments.empty();
}

// How many elements each mean in `node` is of, when `buffer` holds the sums; nothing otherwise.
std::optional<Size> divisor_for(const Graph& graph, const Node& node,
                                const RecordedBuffer& buffer) {
  const auto* ref = std::get_if<NodeRef>(&node.arguments[0].value);
  const Node* operand = ref == nullptr ? nullptr : graph.find(ref->name);
  if (operand == nullptr || operand->values.size() != 1 || !operand->values[0]) {
    return std::nullopt;
  }
  // Partial sums of a reduction in several steps are more than the means.
  if (element_count(*buffer.layout) != element_count(*node.values[0])) return std::nullopt;
  return divisor(node, *operand->values[0]);
}

}  // namespace

void split_undivided_means(LoweredGraph& lowered) {
  const Sums sums = sums_without_node(lowered);
  if (sums.empty()) return;
  std::vector<Node> nodes;
  for (const Node& node : lowered.graph.nodes) {
    const auto found = sums.find(node.name);
    if (found == sums.end() || found->second.size() != 1 || !is_mean(node)) {
      nodes.push_back(node);
      continue;
    }
    const std::string& buffer = found->second.front();
    const RecordedBuffer& recorded = lowered.buffers.at(buffer);
    const std::optional<Size> count = divisor_for(lowered.graph, node, recorded);
    if (!count) {
      nodes.push_back(node);
      continue;
    }
    std::vector<Node> calls = calls_of(node, *count, recorded.layout->dtype);
    lowered.locations.push_back({calls[0].name, buffer, std::nullopt});
    std::move(calls.begin(), calls.end(), std::back_inserter(nodes));
  }
  lowered.graph.nodes = std::move(nodes);
}

}  // namespace fuseproof
