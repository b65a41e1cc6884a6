#include "fragment/slicer.h"

#include <map>

#include <fmt/format.h>

#include "fragment/output_slice.h"
#include "fragment/output_value.h"
#include "fragment/packed_weights.h"

namespace fuseproof {
namespace {

struct LastWrite {
  const RecordedStep* step = nullptr;
  const RecordedWrite* write = nullptr;
};

// The write that leaves its value in each written argument: in a chain of in-place aliases only the
// last one that is stored can be seen afterwards.
std::map<std::int64_t, LastWrite> last_writes(const LoweringRecord& record,
                                              const KernelBoundary& boundary) {
  std::map<std::int64_t, LastWrite> writes;
  for (const RecordedStep& step : record.steps) {
    for (const RecordedWrite& write : step.writes) {
      const std::optional<std::int64_t> argument = boundary.written_argument(write.real);
      if (argument && write.is_stored) writes[*argument] = {&step, &write};
    }
  }
  return writes;
}

Node placeholder(const Node& node) {
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

Node placeholder(const FragmentInput& copied) {
  Node result;
  result.name = copied.node;
  result.kind = NodeKind::kPlaceholder;
  result.values = {copied.layout};
  return result;
}

Argument sizes(const std::vector<Size>& sizes) {
  ArgumentList list;
  for (const Size& size : sizes) {
    const std::optional<std::int64_t> number = size.number();
    list.push_back(number ? Argument{*number} : Argument{Symbol{size.text()}});
  }
  return {std::move(list)};
}

// Makes a tensor of the layout that the node's value has, whatever is in it.
Node empty_tensor(const Node& node) {
  const SymbolicLayout& layout = *node.values[0];
  Node result = placeholder(node);
  result.kind = NodeKind::kCall;
  result.target = "aten.empty_strided.default";
  result.arguments = {sizes(layout.shape), sizes(layout.strides)};
  result.keywords = {{"dtype", {TorchConstant{"dtype", std::string(dtype_name(layout.dtype))}}},
                     {"device", {TorchConstant{"device", "cpu"}}}};
  return result;
}

// Casts the value of a node, for which the graph has no call of its own.
Node cast_of(const Node& node, DType dtype) {
  const std::string name(dtype_name(dtype));
  Node result = placeholder(node);
  result.name = fmt::format("{}_as_{}", node.name, name);
  result.kind = NodeKind::kCall;
  result.target = "prims.convert_element_type.default";
  result.arguments = {{NodeRef{node.name}}, {TorchConstant{"dtype", name}}};
  result.values[0]->dtype = dtype;
  return result;
}

class FragmentBuilder {
 public:
  FragmentBuilder(const LoweredGraph& lowered, const LoweringRecord& record)
      : lowered_(lowered), record_(record), boundary_(lowered, record) {}

  SlicedKernel build() {
    const OutputValueFinder finder(lowered_, boundary_);
    const std::map<std::int64_t, LastWrite> writes = last_writes(record_, boundary_);
    for (std::size_t i = 0; i < record_.arguments.size(); ++i) {
      const ArgumentUse use = record_.arguments[i].use;
      if (use == ArgumentUse::kIn || use == ArgumentUse::kSize) continue;
      const auto write = writes.find(static_cast<std::int64_t>(i));
      add_output(static_cast<std::int64_t>(i), write == writes.end() ? LastWrite{} : write->second,
                 finder);
    }
    assemble();
    explain_failure();
    return std::move(result_);
  }

 private:
  void add_output(std::int64_t argument, LastWrite last, const OutputValueFinder& finder) {
    FragmentOutput output;
    output.argument = argument;
    output.buffer = record_.arguments[static_cast<std::size_t>(argument)].value;
    if (last.write != nullptr) {
      output.buffer = last.write->buffer;
      output.is_live = last.write->is_live;
      output.reason = check_output(output, last, finder);
    } else {
      output.reason = fmt::format("an output that no loop writes: {}", output.buffer);
    }
    if (output.reason.empty()) output.source = OutputSource::kFx;
    result_.fragment.outputs.push_back(std::move(output));
  }

  // Fills in the value of an output and takes over its slice; returns why not, or "".
  std::string check_output(FragmentOutput& output, LastWrite last,
                           const OutputValueFinder& finder) {
    OutputValue value = finder.find(*last.step, *last.write, output.argument);
    if (value.node.empty()) return value.reason;
    if (value.copied) {
      copied_.push_back(*value.copied);
    } else {
      Slice slice = slice_output(lowered_, boundary_, value.node);
      if (!slice.reason.empty()) return slice.reason;
      merged_.calls.merge(slice.calls);
      merged_.constants.merge(slice.constants);
      merged_.inputs.merge(slice.inputs);
      merged_.numbers.merge(slice.numbers);
      merged_.empties.merge(slice.empties);
    }
    output.node = value.cast ? add_cast(value.node, *value.cast) : value.node;
    output.layout = value.layout;
    return "";
  }

  std::string add_cast(const std::string& node, DType dtype) {
    const std::size_t position = *lowered_.position(node);
    Node cast = cast_of(lowered_.at(position), dtype);
    std::string name = cast.name;
    casts_.try_emplace({position, dtype}, std::move(cast));
    return name;
  }

  // The casts of values that stand there from the beginning come before all calls, the others right
  // after what they cast: a later call may change it in place.
  void assemble_calls() {
    std::vector<Node>& nodes = result_.fragment.graph.nodes;
    for (const auto& [key, cast] : casts_) {
      if (!merged_.calls.contains(key.first)) nodes.push_back(cast);
    }
    for (const std::size_t position : merged_.calls) {
      nodes.push_back(with_plain_weights(lowered_.at(position)));
      for (const auto& [key, cast] : casts_) {
        if (key.first == position) nodes.push_back(cast);
      }
    }
  }

  void assemble() {
    Fragment& fragment = result_.fragment;
    for (const FragmentInput& copied : copied_) {
      fragment.graph.nodes.push_back(placeholder(copied));
      fragment.inputs.push_back(copied);
    }
    for (const auto& [position, input] : merged_.inputs) {
      fragment.graph.nodes.push_back(placeholder(lowered_.at(position)));
      fragment.inputs.push_back(input);
    }
    for (const std::size_t position : merged_.constants) {
      const Node& node = lowered_.at(position);
      const std::size_t argument = record_.arguments.size() + result_.constants.size();
      fragment.graph.nodes.push_back(placeholder(node));
      fragment.inputs.push_back({node.name, static_cast<std::int64_t>(argument), std::nullopt});
      result_.constants.push_back(node.name);
    }
    for (const std::size_t position : merged_.numbers) {
      fragment.graph.nodes.push_back(placeholder(lowered_.at(position)));
    }
    for (const std::size_t position : merged_.empties) {
      fragment.graph.nodes.push_back(empty_tensor(lowered_.at(position)));
    }
    assemble_calls();
  }

  void explain_failure() {
    Fragment& fragment = result_.fragment;
    for (const FragmentOutput& output : fragment.outputs) {
      if (output.source != OutputSource::kUnchecked) return;
    }
    if (fragment.outputs.empty()) {
      fragment.failure = "no outputs: the kernel writes none of its arguments";
    } else if (boundary_.origins().empty()) {
      fragment.failure = "no origin: no FX node stands behind the kernel";
    } else {
      fragment.failure = fragment.outputs.front().reason;
    }
  }

  const LoweredGraph& lowered_;
  const LoweringRecord& record_;
  KernelBoundary boundary_;
  Slice merged_;
  std::vector<FragmentInput> copied_;
  std::map<std::pair<std::size_t, DType>, Node> casts_;  // by position of what they cast
  SlicedKernel result_;
};

}  // namespace

SlicedKernel slice(const LoweredGraph& lowered, const LoweringRecord& record) {
  return FragmentBuilder(lowered, record).build();
}

}  // namespace fuseproof
