#include "fragment/nodes.h"

#include <utility>

namespace fuseproof {

Node placeholder_of(const Node& node) {
  Node result;
  result.name = node.name;
  result.kind = NodeKind::kPlaceholder;
  result.values = node.values;
  result.number = node.number;
  result.source_file = node.source_file;
  result.source_line = node.source_line;
  result.source_text = node.source_text;
  return result;
}

Node tensor_call(std::string name, std::string_view target, std::vector<Argument> arguments,
                 DType dtype, std::vector<Size> shape) {
  Node node;
  node.name = std::move(name);
  node.kind = NodeKind::kCall;
  node.target = target;
  node.arguments = std::move(arguments);
  std::vector<Size> strides = contiguous_strides(shape);
  node.values = {SymbolicLayout{dtype, std::move(shape), std::move(strides), 0}};
  return node;
}

Argument size_argument(const Size& size) {
  const std::optional<std::int64_t> number = size.number();
  return number ? Argument{*number} : Argument{Symbol{size.text()}};
}

Argument size_list(const std::vector<Size>& sizes) {
  ArgumentList list;
  for (const Size& size : sizes) list.push_back(size_argument(size));
  return {std::move(list)};
}

Argument dtype_constant(DType dtype) {
  return {TorchConstant{"dtype", std::string(dtype_name(dtype))}};
}

}  // namespace fuseproof
