// One argument of a call, prepared from the graph's plain data by the type that the operator's
// schema gives it, so that filling the dispatcher's stack is a copy for most arguments.
//
// A Python number in a tensor's place becomes a 0-dim tensor marked as a wrapped number, which
// takes no part in type promotion beyond its kind: what torch's own argument parser does.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include "graph/graph.h"
#include "reference/tensors.h"

namespace fuseproof {

struct Operand {
  enum class Kind : std::uint8_t { kConstant, kSlot, kList };
  Kind kind = Kind::kConstant;
  c10::TypeKind type = c10::TypeKind::AnyType;  // that the schema asks for, optional removed
  c10::IValue constant;                         // kConstant
  int slot = -1;                                // kSlot: index into the run's values
  std::vector<Operand> elements;                // kList
  c10::TypeKind element_type = c10::TypeKind::AnyType;  // kList
  bool has_optional_elements = false;                   // kList: Tensor?[]
};

// Where the values that a node refers to live. Assigns slots to symbolic sizes as they are met.
struct SlotTable {
  std::unordered_map<std::string, int> nodes;
  std::vector<std::pair<Symbol, int>> symbols;
  int count = 0;

  int slot_of(const Symbol& symbol);
};

// Prepares `argument` for the schema's `parameter`. Throws kBadInput, naming node and parameter,
// for a value that does not fit, and kUnsupported for devices other than the CPU.
Operand make_operand(const Argument& argument, const c10::Argument& parameter, const Node& node,
                     SlotTable& slots);
// An argument that the node leaves to its default.
Operand default_operand(const c10::Argument& parameter, const Node& node);

// The value to put on the stack: a dtype is widened.
c10::IValue load(const Operand& operand, const std::vector<c10::IValue>& values, Widening widening);

}  // namespace fuseproof
