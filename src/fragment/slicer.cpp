#include "fragment/slicer.h"

#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "fragment/loop_values.h"
#include "fragment/nodes.h"
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

Node placeholder_of(const FragmentInput& copied) {
  Node result;
  result.name = copied.node;
  result.kind = NodeKind::kPlaceholder;
  result.values = {copied.layout};
  return result;
}

// Makes a tensor of the layout that the node's value has, whatever is in it.
Node empty_tensor(const Node& node) {
  const SymbolicLayout& layout = *node.values[0];
  Node result = placeholder_of(node);
  result.kind = NodeKind::kCall;
  result.target = "aten.empty_strided.default";
  result.arguments = {size_list(layout.shape), size_list(layout.strides)};
  result.keywords = {{"dtype", dtype_constant(layout.dtype)},
                     {"device", {TorchConstant{"device", "cpu"}}}};
  return result;
}

// Casts the value of a node, for which the graph has no call of its own.
Node cast_of(const Node& node, DType dtype) {
  Node result = placeholder_of(node);
  result.name = fmt::format("{}_as_{}", node.name, dtype_name(dtype));
  result.kind = NodeKind::kCall;
  result.target = "prims.convert_element_type.default";
  result.arguments = {{NodeRef{node.name}}, dtype_constant(dtype)};
  result.values[0]->dtype = dtype;
  return result;
}

class FragmentBuilder {
 public:
  FragmentBuilder(const LoweredGraph& lowered, const LoweringRecord& record)
      : lowered_(lowered),
        record_(record),
        boundary_(lowered, record),
        finder_(lowered, boundary_),
        loop_values_(lowered, record, boundary_,
                     [this](const RecordedStep& step, const RecordedWrite& write) {
                       return fx_value(step, write);
                     }) {}

  SlicedKernel build() {
    const std::map<std::int64_t, LastWrite> writes = last_writes(record_, boundary_);
    for (std::size_t i = 0; i < record_.arguments.size(); ++i) {
      const ArgumentUse use = record_.arguments[i].use;
      if (use == ArgumentUse::kIn || use == ArgumentUse::kSize) continue;
      const auto write = writes.find(static_cast<std::int64_t>(i));
      add_output(static_cast<std::int64_t>(i), write == writes.end() ? LastWrite{} : write->second);
    }
    for (FragmentOutput& output : result_.fragment.outputs) {
      if (!output.is_checked() && writes.contains(output.argument)) check_by_loop_body(output);
    }
    assemble();
    explain_failure();
    return std::move(result_);
  }

 private:
  void add_output(std::int64_t argument, LastWrite last) {
    FragmentOutput output;
    output.argument = argument;
    output.buffer = record_.arguments[static_cast<std::size_t>(argument)].value;
    if (last.write != nullptr) {
      output.buffer = last.write->buffer;
      output.is_live = last.write->is_live;
      output.reason = check_output(output, last);
    } else {
      output.reason = fmt::format("an output that no loop writes: {}", output.buffer);
    }
    if (output.reason.empty()) {
      output.source = OutputSource::kFx;
      loop_values_.add_known(output.buffer, output.node, output.layout);
    }
    result_.fragment.outputs.push_back(std::move(output));
  }

  // Fills in the value of an output and takes over its slice; returns why not, or "".
  std::string check_output(FragmentOutput& output, LastWrite last) {
    OutputValue value = finder_.find(*last.step, *last.write, output.argument);
    if (value.node.empty()) return value.reason;
    if (value.copied) {
      copied_.push_back(*value.copied);
    } else {
      Slice slice = slice_output(lowered_, boundary_, value.node, value.after_mutations);
      if (!slice.reason.empty()) return slice.reason;
      merge(std::move(slice));
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

  // What casts and loop bodies read comes before all calls where it stands there from the
  // beginning, else right after the call that makes it: a later one may change it in place.
  void assemble_calls(std::vector<Node> loop_calls) {
    using Place = std::optional<std::size_t>;  // the last call that is read
    std::map<std::string, Place> places;
    std::multimap<Place, Node> readers;
    const auto place_of = [&](const std::string& name) {
      if (const auto reader = places.find(name); reader != places.end()) return reader->second;
      const Place position = lowered_.position(name);
      return position && merged_.calls.contains(*position) ? position : std::nullopt;
    };
    const auto place_reader = [&](Node node) {
      Place place;
      for_each_node_ref(node,
                        [&](const NodeRef& ref) { place = std::max(place, place_of(ref.name)); });
      places[node.name] = place;
      readers.emplace(place, std::move(node));
    };
    for (auto& [key, cast] : casts_) place_reader(std::move(cast));
    for (Node& call : loop_calls) place_reader(std::move(call));

    std::vector<Node>& nodes = result_.fragment.graph.nodes;
    const auto add_readers = [&](Place call) {
      const auto [begin, end] = readers.equal_range(call);
      for (auto reader = begin; reader != end; ++reader) nodes.push_back(std::move(reader->second));
    };
    add_readers(std::nullopt);
    for (const std::size_t position : merged_.calls) {
      nodes.push_back(with_plain_weights(lowered_.at(position)));
      add_readers(position);
    }
  }

  void merge(Slice slice) {
    merged_.calls.merge(slice.calls);
    merged_.constants.merge(slice.constants);
    merged_.inputs.merge(slice.inputs);
    merged_.numbers.merge(slice.numbers);
    merged_.empties.merge(slice.empties);
  }

  // The FX value of a buffer that a loop body reads. Its slice is kept until it is known whether
  // an output needs it.
  std::optional<OutputValue> fx_value(const RecordedStep& step, const RecordedWrite& write) {
    // For a buffer that is no argument any will do: the layout is the buffer's own then.
    const std::int64_t argument = boundary_.written_argument(write.real).value_or(0);
    OutputValue value = finder_.find(step, write, argument);
    if (value.node.empty() || value.copied || value.after_mutations) return std::nullopt;
    Slice slice = slice_output(lowered_, boundary_, value.node);
    if (!slice.reason.empty()) return std::nullopt;
    loop_slices_[value.node] = std::move(slice);
    return value;
  }

  // An output that no FX value stands for. What the FX graph lacks stays the reason when its loop
  // body does not help either.
  void check_by_loop_body(FragmentOutput& output) {
    if (!loop_values_.has_body(output.buffer)) return;
    try {
      BufferValue value = loop_values_.find(output.buffer);
      output.node = std::move(value.node);
      output.layout = std::move(value.layout);
      output.source = OutputSource::kLoopBody;
      output.reason.clear();
    } catch (const Error& error) {
      output.reason += fmt::format("; its loop body does not help: {}", error.what());
    }
  }

  // What loop bodies need, with the slices of the FX values that they read.
  LoopValues::Parts loop_parts() {
    std::vector<std::string> wanted;
    for (const FragmentOutput& output : result_.fragment.outputs) {
      if (output.source == OutputSource::kLoopBody) wanted.push_back(output.node);
    }
    LoopValues::Parts parts = loop_values_.parts_for(wanted);
    for (const Node& call : parts.calls) {
      for (const std::string& name : operands(call)) {
        if (const auto slice = loop_slices_.find(name); slice != loop_slices_.end()) {
          merge(slice->second);
        }
      }
    }
    return parts;
  }

  void assemble() {
    Fragment& fragment = result_.fragment;
    LoopValues::Parts loops = loop_parts();
    for (std::size_t i = 0; i < loops.inputs.size(); ++i) {
      fragment.graph.nodes.push_back(std::move(loops.placeholders[i]));
      fragment.inputs.push_back(std::move(loops.inputs[i]));
    }
    for (const FragmentInput& copied : copied_) {
      fragment.graph.nodes.push_back(placeholder_of(copied));
      fragment.inputs.push_back(copied);
    }
    for (const auto& [position, input] : merged_.inputs) {
      fragment.graph.nodes.push_back(placeholder_of(lowered_.at(position)));
      fragment.inputs.push_back(input);
    }
    for (const std::size_t position : merged_.constants) {
      const Node& node = lowered_.at(position);
      const std::size_t argument = record_.arguments.size() + result_.constants.size();
      fragment.graph.nodes.push_back(placeholder_of(node));
      fragment.inputs.push_back({node.name, static_cast<std::int64_t>(argument), std::nullopt});
      result_.constants.push_back(node.name);
    }
    for (const std::size_t position : merged_.numbers) {
      fragment.graph.nodes.push_back(placeholder_of(lowered_.at(position)));
    }
    for (const std::size_t position : merged_.empties) {
      if (merged_.has_value(position)) continue;
      fragment.graph.nodes.push_back(empty_tensor(lowered_.at(position)));
    }
    assemble_calls(std::move(loops.calls));
  }

  void explain_failure() {
    Fragment& fragment = result_.fragment;
    for (const FragmentOutput& output : fragment.outputs) {
      if (output.is_checked()) return;
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
  OutputValueFinder finder_;
  LoopValues loop_values_;
  std::map<std::string, Slice> loop_slices_;  // by node
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
