#include "fragment/boundary.h"

#include <algorithm>

namespace fuseproof {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool holds(const RecordedArgument& argument, const std::string& buffer) {
  if (argument.use == ArgumentUse::kSize) return false;
  return argument.value == buffer || contains(argument.aliases, buffer);
}

}  // namespace

KernelBoundary::KernelBoundary(const LoweredGraph& lowered, const LoweringRecord& record)
    : lowered_(lowered), record_(record) {
  for (const RecordedStep& step : record.steps) {
    origins_.insert(step.origins.begin(), step.origins.end());
    for (const RecordedWrite& write : step.writes) add_computed(write.buffer);
  }
  for (const RecordedStep& step : record.steps) {
    for (const RecordedRead& read : step.reads) {
      if (read.buffer != read.real && !computes(read.buffer)) stale_.insert(read.real);
    }
  }
  find_overwritten();
}

void KernelBoundary::find_overwritten() {
  for (const auto& [node, targets] : lowered_.mutations) {
    const std::vector<const ValueLocation*> places = lowered_.locations_of(node);
    if (!targets.empty() || places.empty()) continue;
    const ValueLocation& place = *places.front();
    if (place.view || computes(place.buffer) || !is_mutated_here(node, place.buffer)) continue;
    const std::optional<std::int64_t> argument = entry_argument(place.buffer);
    const std::vector<std::string> names = operands(lowered_.at(*lowered_.position(node)));
    if (!argument || names.empty()) continue;
    overwritten_[names.front()] = {names.front(), *argument,
                                   layout_in_argument(place.buffer, *argument)};
  }
}

void KernelBoundary::add_computed(const std::string& buffer) {
  if (buffer.empty() || !computed_.insert(buffer).second) return;
  const auto found = lowered_.buffers.find(buffer);
  if (found != lowered_.buffers.end()) add_computed(found->second.base);
}

std::optional<std::int64_t> KernelBoundary::written_argument(const std::string& real) const {
  for (std::size_t i = 0; i < record_.arguments.size(); ++i) {
    const RecordedArgument& argument = record_.arguments[i];
    if (argument.use != ArgumentUse::kIn && holds(argument, real)) {
      return static_cast<std::int64_t>(i);
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> KernelBoundary::entry_argument(const std::string& buffer) const {
  for (std::size_t i = 0; i < record_.arguments.size(); ++i) {
    if (holds(record_.arguments[i], buffer)) return static_cast<std::int64_t>(i);
  }
  return std::nullopt;
}

std::optional<SymbolicLayout> KernelBoundary::layout_in_argument(const std::string& buffer,
                                                                 std::int64_t argument) const {
  const std::string& passed = record_.arguments[static_cast<std::size_t>(argument)].value;
  if (buffer == passed) return std::nullopt;
  const std::optional<SymbolicLayout>& layout = lowered_.buffer_layout(buffer);
  const std::optional<SymbolicLayout>& passed_layout = lowered_.buffer_layout(passed);
  if (!layout) return std::nullopt;
  if (passed_layout && passed_layout->dtype == layout->dtype &&
      passed_layout->shape == layout->shape && passed_layout->strides == layout->strides) {
    return std::nullopt;
  }
  return relative_view(*layout, layout);
}

bool KernelBoundary::is_mutated_here(const std::string& node, const std::string& real) const {
  if (!lowered_.mutations.contains(node)) return false;
  const std::string& call = lowered_.computing_call(node);
  return std::any_of(record_.steps.begin(), record_.steps.end(), [&](const RecordedStep& step) {
    return contains(step.origins, call) &&
           std::any_of(step.writes.begin(), step.writes.end(),
                       [&](const RecordedWrite& write) { return write.real == real; });
  });
}

bool KernelBoundary::has_operand_in(const std::string& node, const std::string& real) const {
  const std::optional<std::size_t> position = lowered_.position(node);
  if (!position) return false;
  const std::vector<std::string> names = operands(lowered_.at(*position));
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return lowered_.storage_of(name) == real; });
}

std::optional<FragmentInput> KernelBoundary::input_for(const std::string& node) const {
  for (const ValueLocation* place : lowered_.locations_of(node)) {
    if (std::optional<FragmentInput> input = realised_input(*place)) return input;
  }
  const auto found = overwritten_.find(node);
  if (found == overwritten_.end()) return std::nullopt;
  return found->second;
}

std::optional<FragmentInput> KernelBoundary::realised_input(const ValueLocation& place) const {
  const std::string& node = place.node;
  if (computes(place.buffer)) return std::nullopt;
  const std::string& real = lowered_.real_name(place.buffer);
  if (is_mutated_here(node, real)) return std::nullopt;

  std::optional<std::int64_t> argument = entry_argument(place.buffer);
  if (!argument) argument = entry_argument(real);
  if (!argument) return input_in_base(place);

  if (!place.view)
    return FragmentInput{node, *argument, layout_in_argument(place.buffer, *argument)};
  if (!lowered_.mutations.contains(node) && has_operand_in(node, real)) return std::nullopt;
  return FragmentInput{node, *argument,
                       relative_view(*place.view, lowered_.buffer_layout(place.buffer))};
}

// A piece of a concatenation whose whole stands in an argument.
std::optional<FragmentInput> KernelBoundary::input_in_base(const ValueLocation& place) const {
  const auto buffer = lowered_.buffers.find(place.buffer);
  if (place.view || buffer == lowered_.buffers.end() || !buffer->second.base_view) {
    return std::nullopt;
  }
  const std::string& base = buffer->second.base;
  const std::optional<std::int64_t> argument = entry_argument(base);
  if (!argument) return std::nullopt;
  return FragmentInput{place.node, *argument,
                       relative_view(*buffer->second.base_view, lowered_.buffer_layout(base))};
}

std::vector<std::string> operands(const Node& node) {
  std::vector<std::string> names;
  for_each_node_ref(node, [&](const NodeRef& ref) { names.push_back(ref.name); });
  return names;
}

SymbolicLayout relative_view(SymbolicLayout view, const std::optional<SymbolicLayout>& buffer) {
  if (buffer) view.offset = view.offset - buffer->offset;
  return view;
}

}  // namespace fuseproof
