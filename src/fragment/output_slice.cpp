#include "fragment/output_slice.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "fragment/packed_weights.h"
#include "graph/op_kinds.h"

namespace fuseproof {
namespace {

// A target that is no operator: a Python function, a sub-graph.
bool is_operator(const std::string& target) {
  return target == "getitem" || !target.starts_with("python:");
}

// A tensor without elements, whatever the symbols are.
bool is_empty(const Node& node) {
  return node.values.size() == 1 && node.values[0] && element_count(*node.values[0]) == Size(0);
}

// Whether a call makes a tensor whose content is open. A lowering reserves a buffer for it at most.
bool makes_open_content(const Node& node) {
  static constexpr std::array kTargets = {
      "aten.empty.memory_format",    "aten.empty_like.default",
      "aten.empty_strided.default",  "aten.empty_permuted.default",
      "aten.new_empty.default",      "aten.new_empty_strided.default",
      "prims.empty.default",         "prims.empty_strided.default",
      "prims.empty_permuted.default"};
  return node.kind == NodeKind::kCall && node.values.size() == 1 && node.values[0] &&
         std::find(kTargets.begin(), kTargets.end(), node.target) != kTargets.end();
}

class OutputSlicer {
 public:
  OutputSlicer(const LoweredGraph& lowered, const KernelBoundary& boundary)
      : lowered_(lowered), boundary_(boundary) {}

  Slice run(const std::string& output, bool after_mutations) {
    if (after_mutations) left_in_ = lowered_.memory_of(output);
    need(output);
    while (slice_.reason.empty() && !pending_.empty()) {
      const std::size_t position = pending_.back();
      pending_.pop_back();
      expand(position);
      if (pending_.empty() && slice_.reason.empty()) need_mutations();
    }
    if (slice_.reason.empty()) check_versions();
    return std::move(slice_);
  }

 private:
  void fail(std::string reason) { slice_.reason = std::move(reason); }

  void need(const std::string& name) {
    const std::optional<std::size_t> position = lowered_.position(name);
    if (!position) return fail(fmt::format("a node that is not in the graph: {}", name));
    if (seen_.insert(*position).second) pending_.push_back(*position);
  }

  void expand(std::size_t position) {
    const Node& node = lowered_.at(position);
    if (std::optional<FragmentInput> input = boundary_.input_for(node.name)) {
      if (node.values.size() != 1 || !node.values[0]) {
        return fail(fmt::format("an input without metadata: {}", node.name));
      }
      slice_.inputs[position] = *std::move(input);
      return;
    }
    if (node.number) {
      slice_.numbers.insert(position);
      return;
    }
    if (is_empty(node) || makes_open_content(node)) {
      slice_.empties.insert(position);
      return;
    }
    switch (node.kind) {
      case NodeKind::kPlaceholder:
        return fail(fmt::format("a graph input that is no argument of the kernel: {}", node.name));
      case NodeKind::kOutput:
        return fail(fmt::format("the graph's output is needed: {}", node.name));
      case NodeKind::kConstant: return expand_constant(position);
      case NodeKind::kCall: return expand_call(position);
    }
  }

  void expand_constant(std::size_t position) {
    const Node& node = lowered_.at(position);
    if (const auto problem = lowered_.problems.find(node.name);
        problem != lowered_.problems.end()) {
      return fail(
          fmt::format("a constant that cannot be recorded: {}, {}", node.name, problem->second));
    }
    if (node.values.size() != 1 || !node.values[0]) {
      return fail(fmt::format("a constant without metadata: {}", node.name));
    }
    slice_.constants.insert(position);
  }

  void expand_call(std::size_t position) {
    const Node node = with_plain_weights(lowered_.at(position));
    if (!boundary_.is_origin(node.name)) {
      if (lowered_.external_nodes.contains(node.name)) {
        return fail(fmt::format("the value of an external call that is no argument: {} = {}",
                                node.name, node.target));
      }
      if (is_realised_elsewhere(node.name)) {
        return fail(fmt::format("the value of another kernel that is no argument: {} in {}",
                                node.name, lowered_.storage_of(node.name)));
      }
    }
    if (!is_operator(node.target)) {
      return fail(fmt::format("a target that is no torch operator: {} = {}", node.name,
                              node.target.substr(node.target.find(':') + 1)));
    }
    if (const auto problem = lowered_.problems.find(node.name);
        problem != lowered_.problems.end()) {
      return fail(
          fmt::format("an argument that cannot be recorded: {}, {}", node.name, problem->second));
    }
    slice_.calls.insert(position);
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      const auto* ref = std::get_if<NodeRef>(&node.arguments[i].value);
      if (ref != nullptr && reads_layout_alone(node.target, i)) {
        need_layout(ref->name);
      } else {
        for_each_node_ref(node.arguments[i], [&](const NodeRef& needed) { need(needed.name); });
      }
    }
    for (const NamedArgument& keyword : node.keywords) {
      for_each_node_ref(keyword.argument, [&](const NodeRef& needed) { need(needed.name); });
    }
  }

  // The value itself where the kernel has it, else a tensor of its layout.
  void need_layout(const std::string& name) {
    const std::optional<std::size_t> position = lowered_.position(name);
    const bool has_layout =
        position && lowered_.at(*position).values.size() == 1 && lowered_.at(*position).values[0];
    if (!has_layout || boundary_.input_for(name)) return need(name);
    slice_.empties.insert(*position);
  }

  bool is_realised_elsewhere(const std::string& node) const {
    const std::vector<const ValueLocation*> places = lowered_.locations_of(node);
    return !places.empty() && std::none_of(places.begin(), places.end(), [&](const auto* place) {
      return place->view || boundary_.computes(place->buffer) ||
             boundary_.entry_argument(lowered_.real_name(place->buffer));
    });
  }

  // Calls of this kernel that change a storage which a later needed call reads under another name,
  // or that is an output.
  void need_mutations() {
    for (const auto& mutation : lowered_.mutations) {
      const auto& name = mutation.first;
      const auto& targets = mutation.second;
      const std::optional<std::size_t> position = lowered_.position(name);
      if (!position || seen_.contains(*position) || !boundary_.is_origin(name)) continue;
      const std::string storage = lowered_.memory_of(name);
      const bool is_left = !storage.empty() && storage == left_in_;
      const bool is_read_later = std::any_of(
          slice_.calls.upper_bound(*position), slice_.calls.end(), [&](std::size_t later) {
            return reads_storage(later, storage) || reads_any(later, targets);
          });
      if (is_left || is_read_later) need(name);
    }
  }

  bool reads_storage(std::size_t position, const std::string& storage) const {
    if (storage.empty()) return false;
    bool reads = false;
    for_each_node_ref(lowered_.at(position), [&](const NodeRef& ref) {
      reads = reads || lowered_.memory_of(ref.name) == storage;
    });
    return reads;
  }

  bool reads_any(std::size_t position, const std::vector<std::string>& names) const {
    bool reads = false;
    for_each_node_ref(lowered_.at(position), [&](const NodeRef& ref) {
      reads = reads || std::find(names.begin(), names.end(), ref.name) != names.end();
    });
    return reads;
  }

  // An input that an earlier kernel has overwritten must be meant as it is now.
  void check_versions() {
    for (const std::size_t call : slice_.calls) {
      for_each_node_ref(lowered_.at(call), [&](const NodeRef& ref) {
        const std::optional<std::size_t> position = lowered_.position(ref.name);
        if (!position || !slice_.inputs.contains(*position)) return;
        if (is_old_version(ref.name, call)) {
          fail(fmt::format("an input that an earlier kernel has overwritten: {}", ref.name));
        }
      });
    }
  }

  bool is_old_version(const std::string& node, std::size_t user) const {
    const std::vector<const ValueLocation*> places = lowered_.locations_of(node);
    if (places.empty() || lowered_.mutations.contains(node)) return false;
    const std::string real = lowered_.storage_of(node);
    if (places.front()->buffer != real || !boundary_.is_mutated_on_entry(real)) return false;
    return std::none_of(
        lowered_.mutations.begin(), lowered_.mutations.end(), [&](const auto& item) {
          const std::optional<std::size_t> position = lowered_.position(item.first);
          return position && *position < user && lowered_.memory_of(item.first) == real;
        });
  }

  const LoweredGraph& lowered_;
  const KernelBoundary& boundary_;
  Slice slice_;
  std::string left_in_;  // the storage that counts as the kernel leaves it
  std::vector<std::size_t> pending_;
  std::set<std::size_t> seen_;
};

}  // namespace

Slice slice_output(const LoweredGraph& lowered, const KernelBoundary& boundary,
                   const std::string& output, bool after_mutations) {
  return OutputSlicer(lowered, boundary).run(output, after_mutations);
}

}  // namespace fuseproof
