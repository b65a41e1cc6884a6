#include "tensor/symbolic_layout.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace fuseproof {
namespace {

std::vector<std::string> texts(const std::vector<Size>& sizes) {
  std::vector<std::string> result;
  for (const Size& size : sizes) result.push_back(size.text());
  return result;
}

Json sizes_to_json(const std::vector<Size>& sizes) {
  Json array = Json::array();
  for (const Size& size : sizes) array.push_back(to_json(size));
  return array;
}

std::vector<Size> sizes_from_json(const JsonObject& object, std::string_view key) {
  const Json& array = object.raw(key);
  if (!array.is_array()) object.fail(key, "is not an array");
  std::vector<Size> sizes;
  for (const Json& size : array) {
    sizes.push_back(size_from_json(size, fmt::format("{}: field `{}`", object.where(), key)));
  }
  return sizes;
}

std::vector<std::int64_t> values(const std::vector<Size>& sizes, const SymbolValues& symbols) {
  std::vector<std::int64_t> result;
  for (const Size& size : sizes) result.push_back(size.value(symbols));
  return result;
}

bool is_static(const SymbolicLayout& layout) {
  const auto is_number = [](const Size& size) { return size.number().has_value(); };
  return std::all_of(layout.shape.begin(), layout.shape.end(), is_number) &&
         std::all_of(layout.strides.begin(), layout.strides.end(), is_number) &&
         is_number(layout.offset);
}

}  // namespace

Size element_count(const SymbolicLayout& layout) {
  Size count = 1;
  for (const Size& size : layout.shape) count = count * size;
  return count;
}

std::vector<Size> contiguous_strides(const std::vector<Size>& shape) {
  std::vector<Size> strides(shape.size());
  Size stride = 1;
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    if (shape[dim] != Size(0)) stride = stride * shape[dim];
  }
  return strides;
}

bool is_contiguous(const SymbolicLayout& layout) {
  Size expected = 1;
  for (std::size_t dim = layout.shape.size(); dim-- > 0;) {
    if (layout.shape[dim] == Size(0)) return true;
    if (layout.shape[dim] != Size(1) && layout.strides[dim] != expected) return false;
    expected = expected * layout.shape[dim];
  }
  return true;
}

bool is_injective(const SymbolicLayout& layout) {
  struct Dim {
    Size stride, size;
  };
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < layout.shape.size(); ++i) {
    if (layout.shape[i] == Size(0)) return true;
    if (layout.shape[i] != Size(1)) dims.push_back({layout.strides[i], layout.shape[i]});
  }
  Size reach;
  while (!dims.empty()) {
    // The next dimension: one whose stride none of the others is below.
    const auto next = std::find_if(dims.begin(), dims.end(), [&](const Dim& candidate) {
      return std::all_of(dims.begin(), dims.end(), [&](const Dim& other) {
        return (other.stride - candidate.stride + 1).is_surely_positive();
      });
    });
    if (next == dims.end() || !(next->stride - reach).is_surely_positive()) return false;
    reach = reach + next->stride * (next->size - 1);
    dims.erase(next);
  }
  return true;
}

Layout resolved(const SymbolicLayout& layout, const SymbolValues& symbols,
                const std::string& where) {
  Layout result;
  result.dtype = layout.dtype;
  try {
    result.shape = values(layout.shape, symbols);
    result.strides = values(layout.strides, symbols);
    result.offset = layout.offset.value(symbols);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", where, error.what()));
  }
  check_layout(result, where);
  return result;
}

void collect_symbols(const SymbolicLayout& layout, std::set<std::string>& symbols) {
  for (const Size& size : layout.shape) size.collect_symbols(symbols);
  for (const Size& stride : layout.strides) stride.collect_symbols(symbols);
  layout.offset.collect_symbols(symbols);
}

std::string to_string(const SymbolicLayout& layout) {
  const std::string shape = fmt::format("{}", fmt::join(texts(layout.shape), ", "));
  if (is_contiguous(layout)) return fmt::format("{}[{}]", dtype_name(layout.dtype), shape);
  return fmt::format("{}[{}; {}]", dtype_name(layout.dtype), shape,
                     fmt::join(texts(layout.strides), ", "));
}

Json to_json(const SymbolicLayout& layout) {
  return {{"dtype", dtype_name(layout.dtype)},
          {"shape", sizes_to_json(layout.shape)},
          {"strides", sizes_to_json(layout.strides)},
          {"offset", to_json(layout.offset)}};
}

SymbolicLayout symbolic_layout_from_json(const JsonObject& object) {
  SymbolicLayout layout;
  layout.dtype = dtype_from_json(object);
  layout.shape = sizes_from_json(object, "shape");
  layout.strides = sizes_from_json(object, "strides");
  layout.offset = size_from_json(object.raw("offset"), object.where() + ": field `offset`");
  if (layout.strides.size() != layout.shape.size()) {
    object.fail("strides", "has another length than `shape`");
  }
  if (is_static(layout)) resolved(layout, {}, object.where());
  return layout;
}

}  // namespace fuseproof
