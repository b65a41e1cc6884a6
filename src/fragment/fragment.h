// The pivot of Fuseproof: the FX sub-graph that one kernel computes, bound to the kernel's
// arguments.
//
// A binding says where in the kernel's arguments a graph value lives: the argument's index and the
// layout of the value *in that argument's storage*. Offset and strides count from the start of the
// argument's own view (its data pointer), so that a binding stays true when the storage moves.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "graph/graph.h"

namespace fuseproof {

struct FragmentInput {
  std::string node;  // a placeholder of the fragment's graph
  // Index into the arguments of a call: the kernel's own, then the constants that the call record
  // appends to them.
  std::int64_t argument = 0;
  // Relative to the argument's view; absent: the whole argument as it is at run time.
  std::optional<SymbolicLayout> layout;
};

// How an output of the kernel is checked.
enum class OutputSource : std::uint8_t {
  kFx,        // against the FX node that computes it
  kLoopBody,  // against the scheduler node's own loop body (blind to faults of the lowering)
  kUnchecked  // not at all; `reason` says why
};

struct FragmentOutput {
  std::int64_t argument = 0;  // index into the kernel's arguments
  std::string buffer;         // Inductor's name of the value ("buf3")
  OutputSource source = OutputSource::kUnchecked;
  // Unless kUnchecked: the node of the fragment's graph whose value it is; a placeholder when the
  // kernel copies.
  std::string node;
  std::optional<SymbolicLayout> layout;  // of the written view, relative to the argument's view
  // Something outside the kernel reads it. A temporary that only crosses loop nests does not.
  bool is_live = true;
  std::string reason;  // kUnchecked: why

  bool is_checked() const { return source != OutputSource::kUnchecked; }
};

struct Fragment {
  // Placeholders, constants, calls; no output node. A placeholder with a `number` is bound to no
  // argument: its value follows from the call's symbols.
  Graph graph;
  std::vector<FragmentInput> inputs;
  std::vector<FragmentOutput> outputs;
  // Why no reference exists for this kernel; empty when at least one output is checked.
  std::string failure;
};

// The symbols whose values a call must have for the fragment to be run and its outputs found.
// Throws kUnsupported for an expression that cannot be read.
std::set<std::string> symbols_of(const Fragment& fragment);

Json to_json(const Fragment& fragment);
Fragment fragment_from_json(const JsonObject& object);

}  // namespace fuseproof
