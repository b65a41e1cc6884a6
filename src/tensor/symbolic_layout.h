// A layout whose numbers may depend on symbols: what a compiler knows of a tensor before it is
// called. One call's values of the symbols make a Layout of it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tensor/layout.h"
#include "tensor/size.h"

namespace fuseproof {

struct SymbolicLayout {
  DType dtype = DType::kFloat32;
  std::vector<Size> shape;
  std::vector<Size> strides;  // as long as shape
  Size offset;

  bool operator==(const SymbolicLayout&) const = default;
};

// Number of elements; 1 for a 0-dim tensor.
Size element_count(const SymbolicLayout& layout);

// Row-major strides of a shape.
std::vector<Size> contiguous_strides(const std::vector<Size>& shape);

// Row-major in memory whatever the symbols are, dimensions of size 1 disregarded.
bool is_contiguous(const SymbolicLayout& layout);

// Whether no element of the storage is in the layout twice, whatever the symbols are. A sufficient
// condition: sorted by stride, each dimension steps over all of the smaller ones.
bool is_injective(const SymbolicLayout& layout);

// The layout for these values of the symbols. Throws kBadInput, naming `where`, for a symbol
// without a value and for numbers that make no layout.
Layout resolved(const SymbolicLayout& layout, const SymbolValues& symbols,
                const std::string& where);

void collect_symbols(const SymbolicLayout& layout, std::set<std::string>& symbols);

// As that of a Layout: "float32[s0, 24]".
std::string to_string(const SymbolicLayout& layout);

// As that of a Layout, with the text of an expression where a number depends on symbols.
Json to_json(const SymbolicLayout& layout);
// Throws kBadInput; layouts without symbols are held to what check_layout asks.
SymbolicLayout symbolic_layout_from_json(const JsonObject& object);

}  // namespace fuseproof
