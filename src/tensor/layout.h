// Where the elements of a tensor stand in its storage: dtype, shape, strides and offset, all
// counted in elements, as torch counts them. A layout owns no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/json.h"

namespace fuseproof {

struct Layout {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // as long as shape; never negative; 0 where broadcast
  std::int64_t offset = 0;            // of the first element in the storage

  bool operator==(const Layout&) const = default;
};

// Number of elements; 1 for a 0-dim tensor.
std::int64_t element_count(const Layout& layout);

// Row-major strides of a shape.
std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape);

// Row-major in memory, dimensions of size 1 disregarded.
bool is_contiguous(const Layout& layout);

// The smallest storage, in bytes, that holds every element (offset included); 0 without elements.
std::size_t required_storage_bytes(const Layout& layout);

// "float32[8, 24]" with strides added where they are not row-major: "float32[8, 24; 1, 8]".
std::string to_string(const Layout& layout);

// Throws kBadInput, naming `where`, for lengths that differ, negative numbers, and extents beyond
// 2^62 bytes, so that no later sum or product of a checked layout can overflow.
void check_layout(const Layout& layout, const std::string& where);

// The dtype that the field `dtype` of a layout names. Throws kBadInput.
DType dtype_from_json(const JsonObject& object);

// {"dtype", "shape", "strides", "offset"}.
Json to_json(const Layout& layout);
// Throws kBadInput for an unknown dtype, lengths that differ, or negative numbers.
Layout layout_from_json(const JsonObject& object);

// The elements of `layout` in row-major order, packed. `storage` holds required_storage_bytes.
std::vector<std::byte> gather(std::span<const std::byte> storage, const Layout& layout);

// The inverse: packed row-major elements written to their places in `storage`.
void scatter(std::span<const std::byte> packed, const Layout& layout, std::span<std::byte> storage);

// One byte per byte of the storage: 1 where an element of the layout stands.
void mark(const Layout& layout, std::span<std::uint8_t> mask);

}  // namespace fuseproof
