// The plain *lowering record*: what capture reads out of a compiler's lowering of one graph, and of
// one kernel in it, without any judgement. The slicer turns it into a fragment.
//
// The FX graph is passed once (LoweredGraph), then one LoweringRecord for each kernel. Layouts
// count from the start of the buffer that they speak of. Names of buffers are the compiler's
// ("buf3", "arg0_1"); a *mutation* is a write under a new name (`buffer`) into storage that another
// name owns
// (`real`).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "graph/graph.h"

namespace fuseproof {

// Where the lowering put the value of an FX node.
struct ValueLocation {
  std::string node;
  std::string buffer;
  std::optional<SymbolicLayout> view;  // absent: the whole buffer, as it is
};

struct RecordedBuffer {
  std::optional<SymbolicLayout> layout;  // absent when it has none, or a dtype without a name
  std::string origin;  // the FX node that the lowering holds to be its origin; may be empty
  std::string real;    // the name that owns its storage; mostly its own
  std::string base;    // the buffer that it is a part of (a piece of a concatenation); or ""
  std::optional<SymbolicLayout> base_view;  // where in the base
  std::string sum_for;  // a reduction by addition fills it, for this FX node's sake; or ""
};

// The graph as it was lowered. JSON:
//   {"graph": {…}, "mutations": {"copy_": ["arg0_1"]}, "aliases": {"diagonal": "sin"},
//    "problems": {"node": "why"}, "external_nodes": ["mm"], "locations": [{"node", "buffer",
//    "view"?}], "buffers": {"buf0": {"layout"?, "origin"?, "real"?, "base"?, "base_view"?,
//    "sum_for"?}}}
struct LoweredGraph {
  Graph graph;
  // For each node whose value is made by writing into a buffer that held another value before: the
  // nodes that it writes into. None: the call is functional in the graph, and the lowering first
  // copies its first operand (scatter, index_put).
  std::map<std::string, std::vector<std::string>> mutations;
  // For each node that lies in the memory of an earlier one, as the graph has it: the first one
  // there.
  std::map<std::string, std::string> aliases;
  // Nodes that could not be read completely, and why. A fragment that needs one has no reference.
  std::map<std::string, std::string> problems;
  // Nodes that a kernel of a library computes (mm, convolution), not generated code.
  std::set<std::string> external_nodes;
  std::vector<ValueLocation> locations;
  std::unordered_map<std::string, RecordedBuffer> buffers;

  // Position of a node in execution order; nothing for an unknown name.
  std::optional<std::size_t> position(const std::string& node) const;
  const Node& at(std::size_t position) const { return graph.nodes[position]; }
  // Where a node's value lies: mostly in one place or none. (A graph input that the lowering has
  // copied to another layout lies in two.)
  std::vector<const ValueLocation*> locations_of(const std::string& node) const;
  // The values that lie in a buffer of exactly this name.
  std::vector<const ValueLocation*> values_in(const std::string& buffer) const;
  // The call that computes a node: itself, or the one whose tuple a getitem takes from.
  const std::string& computing_call(const std::string& node) const;
  // The owner of a buffer's storage.
  const std::string& real_name(const std::string& buffer) const;
  const std::optional<SymbolicLayout>& buffer_layout(const std::string& buffer) const;

  // The owner of the storage in which a node's value lies; empty when it lies nowhere.
  std::string storage_of(const std::string& node) const;
  // The same, and for a value that the lowering put nowhere (a view that only an index expression
  // describes, what is written through one) that of the values in whose memory the graph has it.
  std::string memory_of(const std::string& node) const;

  // To be called once, when the fields above are complete.
  void build_index();

 private:
  using Index = std::unordered_map<std::string, std::vector<std::size_t>>;
  std::vector<const ValueLocation*> pick(const Index& index, const std::string& key) const;

  std::unordered_map<std::string, std::size_t> positions_;
  Index locations_of_node_;
  Index locations_in_buffer_;
  std::unordered_map<std::string, std::string> storage_of_first_;  // of aliases
};

enum class ArgumentUse : std::uint8_t { kIn, kOut, kInOut, kSize };

struct RecordedArgument {
  std::string name;                    // "in_ptr0"
  ArgumentUse use = ArgumentUse::kIn;  // as the kernel's signature has it; see argument_uses()
  std::string type;                    // "const float*"
  std::string value;                   // "buf3", "arg0_1", "s0"
  std::vector<std::string> aliases;    // in-place chain, oldest first
};

struct RecordedRead {
  std::string buffer;
  std::string real;
};

// A buffer that merely copies another one element by element, perhaps with other strides.
struct BufferCopy {
  std::string source;
  SymbolicLayout view;  // of the source, in the order of the copy's own dimensions
};

// Argument `index` (counting tensors alone) of an FX call.
struct OperandRef {
  std::string node;
  std::int64_t index = 0;
  std::optional<SymbolicLayout> view;  // how that call reads the buffer; absent: the whole buffer
};

struct RecordedWrite {
  std::string buffer;
  std::string real;
  bool is_live = true;    // something outside the kernel reads it
  bool is_stored = true;  // false: only its own loop reads it, and the store is left out
  std::optional<BufferCopy> copy;
  std::optional<OperandRef> piece;    // of a concatenation
  std::vector<OperandRef> consumers;  // external calls that read it
};

struct LoopRange {
  std::string variable;  // "p0", counts from 0
  Size size;
};

// What one loop nest does for each point of its ranges. The operations are nodes of a graph of
// their own, with targets like "ops.load"; an index is a symbol over the ranges' variables.
struct RecordedLoopBody {
  std::vector<LoopRange> iteration;
  std::vector<LoopRange> reduction;  // inside of the iteration; empty: none
  Graph operations;
  std::string problem;  // why it could not be read; else empty
};

// One loop body of the kernel, in the order in which they run.
struct RecordedStep {
  std::vector<RecordedRead> reads;
  std::vector<RecordedWrite> writes;
  std::vector<std::string> origins;  // FX nodes
  std::optional<RecordedLoopBody> body;
};

// JSON: {"kernel", "arguments": [{"name", "use": "in"|"out"|"inout"|"size", "type", "value",
//   "aliases"?}], "steps": [{"reads": [{"buffer", "real"}], "origins": […], "writes": [{"buffer",
//   "real", "is_live", "copy"?: {"source", "view"}, "piece"?: {"node", "index"},
//   "consumers"?: [{"node", "index", "view"?}]}],
//   "body"?: {"iteration": [{"variable", "size"}], "reduction": […], "graph": {…}} |
//            {"problem": "why"}}]}
struct LoweringRecord {
  std::string kernel;
  std::vector<RecordedArgument> arguments;
  std::vector<RecordedStep> steps;
};

// Both throw kBadInput.
LoweredGraph lowered_graph_from_json(const JsonObject& object);
LoweringRecord lowering_record_from_json(const JsonObject& object);

// How the kernel really uses each argument. An argument that the signature calls an output is read
// too when it is passed a second time as an input, mutated before the kernel itself has filled it,
// or read before that. An input that the kernel writes piece by piece through other arguments is
// changed.
std::vector<ArgumentUse> argument_uses(const LoweredGraph& lowered, const LoweringRecord& record);

}  // namespace fuseproof
