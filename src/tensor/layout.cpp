#include "tensor/layout.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace fuseproof {
namespace {

// Calls visit(first, count, stride) for each innermost row, in row-major order; first and stride
// count elements of the storage.
template <typename Visitor>
void for_each_row(const Layout& layout, Visitor&& visit) {
  if (element_count(layout) == 0) return;
  const std::size_t rank = layout.shape.size();
  if (rank == 0) {
    visit(layout.offset, std::int64_t{1}, std::int64_t{1});
    return;
  }
  std::vector<std::int64_t> index(rank, 0);
  std::int64_t first = layout.offset;
  while (true) {
    visit(first, layout.shape[rank - 1], layout.strides[rank - 1]);
    std::size_t dim = rank - 1;
    while (dim > 0) {
      --dim;
      first += layout.strides[dim];
      if (++index[dim] < layout.shape[dim]) break;
      first -= layout.strides[dim] * layout.shape[dim];
      index[dim] = 0;
      if (dim == 0) return;
    }
    if (rank == 1) return;
  }
}

void require(bool holds, const std::string& where, std::string_view field, const char* problem) {
  if (holds) return;
  throw Error(ErrorKind::kBadInput, fmt::format("{}: field `{}` {}", where, field, problem));
}

}  // namespace

std::int64_t element_count(const Layout& layout) {
  std::int64_t count = 1;
  for (const std::int64_t size : layout.shape) count *= size;
  return count;
}

std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= std::max<std::int64_t>(shape[dim], 1);
  }
  return strides;
}

bool is_contiguous(const Layout& layout) {
  std::int64_t expected = 1;
  for (std::size_t dim = layout.shape.size(); dim-- > 0;) {
    if (layout.shape[dim] == 0) return true;
    if (layout.shape[dim] != 1 && layout.strides[dim] != expected) return false;
    expected *= layout.shape[dim];
  }
  return true;
}

std::size_t required_storage_bytes(const Layout& layout) {
  if (element_count(layout) == 0) return 0;
  std::int64_t last = layout.offset;
  for (std::size_t dim = 0; dim < layout.shape.size(); ++dim) {
    last += (layout.shape[dim] - 1) * layout.strides[dim];
  }
  return static_cast<std::size_t>(last + 1) * dtype_size_bytes(layout.dtype);
}

std::string to_string(const Layout& layout) {
  if (is_contiguous(layout)) {
    return fmt::format("{}[{}]", dtype_name(layout.dtype), fmt::join(layout.shape, ", "));
  }
  return fmt::format("{}[{}; {}]", dtype_name(layout.dtype), fmt::join(layout.shape, ", "),
                     fmt::join(layout.strides, ", "));
}

Json to_json(const Layout& layout) {
  return {{"dtype", dtype_name(layout.dtype)},
          {"shape", layout.shape},
          {"strides", layout.strides},
          {"offset", layout.offset}};
}

void check_layout(const Layout& layout, const std::string& where) {
  require(layout.strides.size() == layout.shape.size(), where, "strides",
          "has another length than `shape`");
  require(layout.offset >= 0, where, "offset", "is negative");
  constexpr double kLimit = 4.6e18;
  double count = static_cast<double>(dtype_size_bytes(layout.dtype));
  double extent = static_cast<double>(layout.offset) + 1;
  for (std::size_t dim = 0; dim < layout.shape.size(); ++dim) {
    require(layout.shape[dim] >= 0, where, "shape", "holds a negative size");
    require(layout.strides[dim] >= 0, where, "strides", "holds a negative stride");
    count *= static_cast<double>(std::max<std::int64_t>(layout.shape[dim], 1));
    extent += static_cast<double>(layout.shape[dim]) * static_cast<double>(layout.strides[dim]);
  }
  require(count < kLimit && extent * 16 < kLimit, where, "shape", "describes an impossible size");
}

DType dtype_from_json(const JsonObject& object) {
  const std::string name = object.string("dtype");
  const std::optional<DType> dtype = parse_dtype(name);
  if (!dtype) object.fail("dtype", fmt::format("names an unknown dtype `{}`", name));
  return *dtype;
}

Layout layout_from_json(const JsonObject& object) {
  Layout layout;
  layout.dtype = dtype_from_json(object);
  layout.shape = object.integers("shape");
  layout.strides = object.integers("strides");
  layout.offset = object.integer("offset");
  check_layout(layout, object.where());
  return layout;
}

std::vector<std::byte> gather(std::span<const std::byte> storage, const Layout& layout) {
  const std::size_t item = dtype_size_bytes(layout.dtype);
  std::vector<std::byte> packed(static_cast<std::size_t>(element_count(layout)) * item);
  std::byte* out = packed.data();
  for_each_row(layout, [&](std::int64_t first, std::int64_t count, std::int64_t stride) {
    const std::byte* in = storage.data() + static_cast<std::size_t>(first) * item;
    if (stride == 1) {
      std::memcpy(out, in, static_cast<std::size_t>(count) * item);
      out += static_cast<std::size_t>(count) * item;
      return;
    }
    for (std::int64_t i = 0; i < count; ++i, out += item) {
      std::memcpy(out, in + static_cast<std::size_t>(i * stride) * item, item);
    }
  });
  return packed;
}

void scatter(std::span<const std::byte> packed, const Layout& layout,
             std::span<std::byte> storage) {
  const std::size_t item = dtype_size_bytes(layout.dtype);
  const std::byte* in = packed.data();
  for_each_row(layout, [&](std::int64_t first, std::int64_t count, std::int64_t stride) {
    std::byte* out = storage.data() + static_cast<std::size_t>(first) * item;
    for (std::int64_t i = 0; i < count; ++i, in += item) {
      std::memcpy(out + static_cast<std::size_t>(i * stride) * item, in, item);
    }
  });
}

void mark(const Layout& layout, std::span<std::uint8_t> mask) {
  const std::size_t item = dtype_size_bytes(layout.dtype);
  for_each_row(layout, [&](std::int64_t first, std::int64_t count, std::int64_t stride) {
    std::uint8_t* out = mask.data() + static_cast<std::size_t>(first) * item;
    for (std::int64_t i = 0; i < count; ++i) {
      std::memset(out + static_cast<std::size_t>(i * stride) * item, 1, item);
    }
  });
}

}  // namespace fuseproof
