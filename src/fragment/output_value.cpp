#include "fragment/output_value.h"

#include <algorithm>

#include <fmt/format.h>

namespace fuseproof {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

OutputValue value_of(const std::string& node, std::optional<SymbolicLayout> layout) {
  OutputValue value;
  value.node = node;
  value.layout = std::move(layout);
  return value;
}

OutputValue no_value(std::string reason) {
  OutputValue value;
  value.reason = std::move(reason);
  return value;
}

}  // namespace

OutputValue OutputValueFinder::find(const RecordedStep& step, const RecordedWrite& write,
                                    std::int64_t argument) const {
  if (write.buffer != write.real) return mutated_value(step, write, argument);
  if (auto value = realised_value(step, write, argument)) return *value;
  if (auto value = piece_value(write, argument)) return *value;
  if (auto value = consumer_value(write, argument)) return *value;
  if (auto value = viewed_value(write)) return *value;
  if (auto value = copied_value(write, argument)) return *value;
  if (auto value = overwritten_value(step, write, argument)) return *value;
  if (auto value = origin_value(step, write, argument)) return *value;
  if (auto value = mistyped_value(step, write)) return *value;
  return no_value(unfit_reason(step, write));
}

const SymbolicLayout* OutputValueFinder::tensor_value(const std::string& node) const {
  const std::optional<std::size_t> position = lowered_.position(node);
  if (!position) return nullptr;
  const Node& found = lowered_.at(*position);
  if (found.is_tuple || found.values.size() != 1 || !found.values[0]) return nullptr;
  return &*found.values[0];
}

std::optional<OutputValue> OutputValueFinder::fitting(const std::string& node,
                                                      const std::string& buffer,
                                                      std::int64_t argument) const {
  const SymbolicLayout* value = tensor_value(node);
  if (value == nullptr) return std::nullopt;
  return fitting(node, *value, buffer, argument);
}

std::optional<OutputValue> OutputValueFinder::fitting(const std::string& node,
                                                      const SymbolicLayout& value,
                                                      const std::string& buffer,
                                                      std::int64_t argument) const {
  const std::optional<SymbolicLayout>& layout = lowered_.buffer_layout(buffer);
  if (!layout || value.dtype != layout->dtype) return std::nullopt;
  if (value.shape == layout->shape) {
    return value_of(node, boundary_.layout_in_argument(buffer, argument));
  }
  // A view with the same elements in the same order.
  if (element_count(value) != element_count(*layout) || !is_contiguous(*layout))
    return std::nullopt;
  SymbolicLayout view{value.dtype, value.shape, contiguous_strides(value.shape), 0};
  return value_of(node, std::move(view));
}

std::optional<OutputValue> OutputValueFinder::fitting_view(const std::string& node,
                                                           const SymbolicLayout& value,
                                                           const std::string& buffer,
                                                           const SymbolicLayout& view) const {
  const std::optional<SymbolicLayout>& layout = lowered_.buffer_layout(buffer);
  if (!layout || value.dtype != layout->dtype) return std::nullopt;
  if (view.dtype != layout->dtype || view.shape != value.shape || !is_injective(view)) {
    return std::nullopt;
  }
  if (element_count(view) != element_count(*layout)) return std::nullopt;
  return value_of(node, relative_view(view, layout));
}

OutputValue OutputValueFinder::mutated_value(const RecordedStep& step, const RecordedWrite& write,
                                             std::int64_t argument) const {
  std::optional<std::size_t> last_position;
  for (const auto& [node, targets] : lowered_.mutations) {
    const std::optional<std::size_t> position = lowered_.position(node);
    if (!position || !contains(step.origins, lowered_.computing_call(node))) continue;
    if (lowered_.memory_of(node) != write.real) continue;
    last_position = std::max(*position, last_position.value_or(0));
  }
  if (!last_position) {
    return no_value(
        fmt::format("a mutation without an FX node: {} changes {}", write.buffer, write.real));
  }
  const std::string& node = lowered_.at(*last_position).name;
  const std::vector<const ValueLocation*> places = lowered_.locations_of(node);
  const bool is_view_of_own =
      !places.empty() && places.front()->view && boundary_.computes(write.real);
  if (places.empty() || is_view_of_own) return partly_mutated_value(write, argument);
  const ValueLocation* last = places.front();
  const SymbolicLayout* value = tensor_value(last->node);
  if (value == nullptr) {
    return no_value(fmt::format("an output without metadata: {}", last->node));
  }
  if (last->view) {
    return value_of(last->node, relative_view(*last->view, lowered_.buffer_layout(write.real)));
  }
  return value_of(last->node, boundary_.layout_in_argument(write.real, argument));
}

OutputValue OutputValueFinder::partly_mutated_value(const RecordedWrite& write,
                                                    std::int64_t argument) const {
  for (const ValueLocation* location : lowered_.values_in(write.real)) {
    if (location->view || lowered_.mutations.contains(location->node)) continue;
    std::optional<OutputValue> value = fitting(location->node, write.real, argument);
    if (!value) continue;
    value->after_mutations = true;
    return *std::move(value);
  }
  return no_value(
      fmt::format("a mutation of a part of {}, all of which no FX node stands for", write.real));
}

std::optional<OutputValue> OutputValueFinder::realised_value(const RecordedStep& step,
                                                             const RecordedWrite& write,
                                                             std::int64_t argument) const {
  std::optional<OutputValue> elsewhere;
  for (const ValueLocation* location : lowered_.values_in(write.buffer)) {
    if (location->view || lowered_.mutations.contains(location->node)) continue;
    std::optional<OutputValue> value = fitting(location->node, write.buffer, argument);
    if (!value) continue;
    if (contains(step.origins, location->node)) return value;
    if (!elsewhere) elsewhere = std::move(value);
  }
  return elsewhere;
}

std::optional<OutputValue> OutputValueFinder::piece_value(const RecordedWrite& write,
                                                          std::int64_t argument) const {
  if (!write.piece) return std::nullopt;
  return operand_value(*write.piece, write, argument);
}

std::optional<OutputValue> OutputValueFinder::operand_value(const OperandRef& ref,
                                                            const RecordedWrite& write,
                                                            std::int64_t argument) const {
  const std::optional<std::size_t> position = lowered_.position(ref.node);
  if (!position) return std::nullopt;
  const Node& call = lowered_.at(*position);
  const std::vector<std::string> names = operands(call);
  const auto index = static_cast<std::size_t>(ref.index);
  if (index >= names.size()) return std::nullopt;
  const SymbolicLayout* operand = tensor_value(names[index]);
  if (operand == nullptr) return std::nullopt;

  const auto fits = [&](const SymbolicLayout& value) {
    return ref.view ? fitting_view(names[index], value, write.buffer, *ref.view)
                    : fitting(names[index], value, write.buffer, argument);
  };
  if (auto value = fits(*operand)) return value;
  // Calls compute in the dtype of their result, and a lowering may cast the operands beforehand.
  if (call.values.empty() || !call.values[0]) return std::nullopt;
  SymbolicLayout cast = *operand;
  cast.dtype = call.values[0]->dtype;
  std::optional<OutputValue> value = fits(cast);
  if (value) value->cast = cast.dtype;
  return value;
}

std::optional<OutputValue> OutputValueFinder::copied_value(const RecordedWrite& write,
                                                           std::int64_t argument) const {
  if (!write.copy) return std::nullopt;
  const SymbolicLayout source =
      relative_view(write.copy->view, lowered_.buffer_layout(write.copy->source));
  const std::optional<SymbolicLayout>& copy_layout = lowered_.buffer_layout(write.buffer);
  if (!copy_layout || copy_layout->dtype != source.dtype || copy_layout->shape != source.shape) {
    return std::nullopt;
  }
  for (const ValueLocation* location : lowered_.values_in(write.copy->source)) {
    const std::optional<SymbolicLayout>& whole = lowered_.buffer_layout(location->buffer);
    const std::optional<SymbolicLayout>& view = location->view ? location->view : whole;
    if (!view || relative_view(*view, whole) != source) continue;
    if (auto value = fitting(location->node, write.buffer, argument)) return value;
  }
  if (boundary_.computes(write.copy->source)) return std::nullopt;
  const std::optional<std::int64_t> entry = boundary_.entry_argument(write.copy->source);
  if (!entry) return std::nullopt;
  const std::string name = write.copy->source + "_copied_to_" + write.buffer;
  OutputValue value = value_of(name, boundary_.layout_in_argument(write.buffer, argument));
  value.copied = FragmentInput{name, *entry, source};
  return value;
}

std::optional<OutputValue> OutputValueFinder::consumer_value(const RecordedWrite& write,
                                                             std::int64_t argument) const {
  for (const OperandRef& consumer : write.consumers) {
    if (auto value = operand_value(consumer, write, argument)) return value;
  }
  return std::nullopt;
}

std::optional<OutputValue> OutputValueFinder::viewed_value(const RecordedWrite& write) const {
  for (const ValueLocation* location : lowered_.values_in(write.buffer)) {
    const SymbolicLayout* layout = tensor_value(location->node);
    if (!location->view || layout == nullptr) continue;
    if (lowered_.mutations.contains(location->node)) continue;
    if (auto value = fitting_view(location->node, *layout, write.buffer, *location->view)) {
      return value;
    }
  }
  return std::nullopt;
}

std::optional<OutputValue> OutputValueFinder::overwritten_value(const RecordedStep& step,
                                                                const RecordedWrite& write,
                                                                std::int64_t argument) const {
  for (const ValueLocation* location : lowered_.values_in(write.buffer)) {
    const auto mutation = lowered_.mutations.find(location->node);
    if (location->view || mutation == lowered_.mutations.end()) continue;
    if (!mutation->second.empty() || !contains(step.origins, location->node)) continue;
    const std::vector<std::string> names =
        operands(lowered_.at(*lowered_.position(location->node)));
    if (names.empty()) continue;
    if (auto value = fitting(names.front(), write.buffer, argument)) return value;
  }
  return std::nullopt;
}

std::optional<OutputValue> OutputValueFinder::origin_value(const RecordedStep& step,
                                                           const RecordedWrite& write,
                                                           std::int64_t argument) const {
  const auto buffer = lowered_.buffers.find(write.buffer);
  if (buffer == lowered_.buffers.end() || !buffer->second.layout) return std::nullopt;
  const std::string& origin = buffer->second.origin;
  if (!contains(step.origins, origin) || lowered_.mutations.contains(origin)) return std::nullopt;
  if (lowered_.external_nodes.contains(origin)) return std::nullopt;
  const SymbolicLayout* value = tensor_value(origin);
  if (value == nullptr || value->shape != buffer->second.layout->shape) return std::nullopt;
  return fitting(origin, write.buffer, argument);
}

std::optional<OutputValue> OutputValueFinder::mistyped_value(const RecordedStep& step,
                                                             const RecordedWrite& write) const {
  const std::optional<SymbolicLayout>& layout = lowered_.buffer_layout(write.buffer);
  if (!write.is_live || !layout) return std::nullopt;
  for (const ValueLocation* location : lowered_.values_in(write.buffer)) {
    const SymbolicLayout* value = tensor_value(location->node);
    if (location->view || value == nullptr || value->shape != layout->shape) continue;
    if (value->dtype == layout->dtype || !contains(step.origins, location->node)) continue;
    return value_of(location->node, std::nullopt);
  }
  return std::nullopt;
}

std::string OutputValueFinder::unfit_reason(const RecordedStep& step,
                                            const RecordedWrite& write) const {
  const std::optional<SymbolicLayout>& layout = lowered_.buffer_layout(write.buffer);
  if (!layout) return fmt::format("a buffer without a layout: {}", write.buffer);
  for (const ValueLocation* location : lowered_.values_in(write.buffer)) {
    const SymbolicLayout* value = tensor_value(location->node);
    if (location->view || value == nullptr) continue;
    return fmt::format("an output of another dtype or shape than its FX node: {} is {}, {} is {}",
                       write.buffer, to_string(*layout), location->node, to_string(*value));
  }
  if (step.origins.empty()) return fmt::format("an output without an origin: {}", write.buffer);
  return fmt::format("an output without an FX value: {}", write.buffer);
}

}  // namespace fuseproof
