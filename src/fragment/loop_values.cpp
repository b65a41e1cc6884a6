#include "fragment/loop_values.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "fragment/nodes.h"

namespace fuseproof {
namespace {

// The dimensions from the largest stride to the smallest, when the elements fill their memory
// without a gap; nothing when they do not, or when symbols hide it.
std::optional<std::vector<std::size_t>> memory_order(const SymbolicLayout& layout) {
  std::vector<std::size_t> order(layout.shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (layout.offset != Size(0)) return std::nullopt;
  if (is_contiguous(layout)) return order;
  const auto is_number = [](const Size& size) { return size.number().has_value(); };
  if (!std::all_of(layout.strides.begin(), layout.strides.end(), is_number)) return std::nullopt;
  // Dimensions of size one may have any stride; they go first.
  const auto stride = [&](std::size_t dim) {
    return layout.shape[dim] == Size(1) ? INT64_MAX : *layout.strides[dim].number();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return stride(a) > stride(b); });
  SymbolicLayout sorted{layout.dtype, {}, {}, 0};
  for (const std::size_t dim : order) {
    sorted.shape.push_back(layout.shape[dim]);
    sorted.strides.push_back(layout.strides[dim]);
  }
  if (!is_contiguous(sorted)) return std::nullopt;
  return order;
}

}  // namespace

LoopValues::LoopValues(const LoweredGraph& lowered, const LoweringRecord& record,
                       const KernelBoundary& boundary, FindFxValue find_fx_value)
    : lowered_(lowered),
      record_(record),
      boundary_(boundary),
      find_fx_value_(std::move(find_fx_value)) {
  for (const RecordedStep& step : record.steps) {
    for (const RecordedWrite& write : step.writes) {
      if (write.buffer != write.real) changed_.insert(write.real);
    }
  }
}

void LoopValues::add_known(const std::string& buffer, const std::string& node,
                           const std::optional<SymbolicLayout>& layout) {
  const std::optional<SymbolicLayout>& whole = lowered_.buffer_layout(buffer);
  const std::optional<std::size_t> position = lowered_.position(node);
  if (!whole || !position) return;
  const std::vector<std::optional<SymbolicLayout>>& values = lowered_.at(*position).values;
  if (values.size() != 1 || !values[0] || values[0]->dtype != whole->dtype) return;
  SymbolicLayout place = layout ? *layout : relative_view(*whole, whole);
  if (place.shape != values[0]->shape || element_count(place) != element_count(*whole)) return;
  known_[buffer] = {node, std::move(place)};
}

LoopValues::Origin LoopValues::origin_of(const std::string& buffer) const {
  for (const RecordedStep& step : record_.steps) {
    for (const RecordedWrite& write : step.writes) {
      if (write.buffer == buffer) return {&step, &write};
    }
  }
  return {};
}

bool LoopValues::has_body(const std::string& buffer) const {
  const RecordedStep* step = origin_of(buffer).step;
  return step != nullptr && step->body.has_value();
}

void LoopValues::check_readable(const std::string& buffer) const {
  const std::string& real = lowered_.real_name(buffer);
  const auto found = lowered_.buffers.find(buffer);
  if (changed_.contains(buffer) || changed_.contains(real)) {
    cannot_translate(fmt::format("{} is changed in place", real));
  }
  if (found == lowered_.buffers.end() || !found->second.layout || !found->second.base.empty()) {
    cannot_translate(fmt::format("{} has no layout of its own", buffer));
  }
}

BufferValue LoopValues::find(const std::string& buffer) {
  check_readable(buffer);
  if (const auto known = known_.find(buffer); known != known_.end()) return known->second;
  if (const auto refused = refused_.find(buffer); refused != refused_.end()) {
    cannot_translate(refused->second);
  }
  const Origin origin = origin_of(buffer);
  if (origin.step == nullptr) cannot_translate(fmt::format("{} has no loop body", buffer));
  if (const auto value = find_fx_value_(*origin.step, *origin.write)) {
    add_known(buffer, value->node, value->layout);
    if (const auto known = known_.find(buffer); known != known_.end()) return known->second;
  }
  return loop_value(buffer, *origin.step);
}

BufferValue LoopValues::loop_value(const std::string& buffer, const RecordedStep& step) {
  if (!step.body) cannot_translate(fmt::format("{} has no loop body", buffer));
  refused_[buffer] = fmt::format("{} is read by the loop body that computes it", buffer);
  try {
    translate(step);
    refused_.erase(buffer);
  } catch (const Error& error) {
    refused_[buffer] = error.what();
    throw;
  }
  const auto stored = known_.find(buffer);
  if (stored == known_.end()) cannot_translate(fmt::format("no store of {}", buffer));
  return stored->second;
}

void LoopValues::translate(const RecordedStep& step) {
  LoopBodyCalls translated = translate_loop_body(
      lowered_, *step.body, step.writes.front().buffer,
      [this](const std::string& buffer, const SymbolicLayout& view) { return load(buffer, view); });
  for (Node& node : translated.nodes) parts_.calls.push_back(std::move(node));
  for (StoredBuffer& stored : translated.stores) {
    known_.try_emplace(stored.buffer, std::move(stored.value));
  }
}

std::string LoopValues::load(const std::string& buffer, const SymbolicLayout& view) {
  check_readable(buffer);
  if (boundary_.computes(buffer)) return view_of(buffer, find(buffer), view);
  std::optional<std::int64_t> argument = boundary_.entry_argument(buffer);
  if (!argument) argument = boundary_.entry_argument(lowered_.real_name(buffer));
  if (!argument) cannot_translate(fmt::format("{} is no argument of the kernel", buffer));
  return entry_view(buffer, *argument, view);
}

std::string LoopValues::entry_view(const std::string& buffer, std::int64_t argument,
                                   const SymbolicLayout& view) {
  std::string& name = views_[{buffer, to_json(view).dump()}];
  if (!name.empty()) return name;
  name = fmt::format("{}.entry.{}", buffer, parts_.inputs.size());
  Node node;
  node.name = name;
  node.kind = NodeKind::kPlaceholder;
  node.values = {view};
  parts_.placeholders.push_back(std::move(node));
  parts_.inputs.push_back({name, argument, view});
  return name;
}

std::string LoopValues::view_of(const std::string& buffer, const BufferValue& value,
                                const SymbolicLayout& view) {
  if (view == value.layout && !may_change(value.node)) return value.node;
  const std::string flat = in_memory_order(buffer, value);
  std::string& name = views_[{buffer, to_json(view).dump()}];
  if (!name.empty()) return name;
  name = fmt::format("{}.view.{}", buffer, parts_.calls.size());
  Node node = tensor_call(
      name, "aten.as_strided.default",
      {{NodeRef{flat}}, size_list(view.shape), size_list(view.strides), size_argument(view.offset)},
      view.dtype, view.shape);
  node.values = {view};
  parts_.calls.push_back(std::move(node));
  return name;
}

bool LoopValues::may_change(const std::string& node) const {
  return !changed_.empty() && lowered_.position(node).has_value();
}

// One dimension, each element where it stands in the buffer.
std::string LoopValues::in_memory_order(const std::string& buffer, const BufferValue& value) {
  std::string& name = flat_[buffer];
  if (!name.empty()) return name;
  const std::optional<std::vector<std::size_t>> order = memory_order(value.layout);
  if (!order) cannot_translate(fmt::format("{} is not dense", buffer));
  ArgumentList dims;
  std::vector<Size> shape;
  for (const std::size_t dim : *order) {
    dims.push_back({static_cast<std::int64_t>(dim)});
    shape.push_back(value.layout.shape[dim]);
  }
  const DType dtype = value.layout.dtype;
  const std::string permuted = buffer + ".permuted";
  parts_.calls.push_back(tensor_call(permuted, "aten.permute.default",
                                     {{NodeRef{value.node}}, {std::move(dims)}}, dtype, shape));
  parts_.calls.push_back(
      tensor_call(buffer + ".packed", "aten.clone.default", {{NodeRef{permuted}}}, dtype, shape));
  parts_.calls.back().keywords = {
      {"memory_format", {TorchConstant{"memory_format", "contiguous_format"}}}};
  name = buffer + ".flat";
  parts_.calls.push_back(
      tensor_call(name, "aten.reshape.default",
                  {{NodeRef{buffer + ".packed"}}, size_list({element_count(value.layout)})}, dtype,
                  {element_count(value.layout)}));
  return name;
}

LoopValues::Parts LoopValues::parts_for(const std::vector<std::string>& wanted) const {
  std::set<std::string> needed(wanted.begin(), wanted.end());
  Parts parts;
  for (auto call = parts_.calls.rbegin(); call != parts_.calls.rend(); ++call) {
    if (!needed.contains(call->name)) continue;
    for (std::string& name : operands(*call)) needed.insert(std::move(name));
    parts.calls.push_back(*call);
  }
  std::reverse(parts.calls.begin(), parts.calls.end());
  for (std::size_t i = 0; i < parts_.inputs.size(); ++i) {
    if (!needed.contains(parts_.inputs[i].node)) continue;
    parts.placeholders.push_back(parts_.placeholders[i]);
    parts.inputs.push_back(parts_.inputs[i]);
  }
  return parts;
}

}  // namespace fuseproof
