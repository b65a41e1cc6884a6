#include "scripts/value_range.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compare/convert.h"

namespace fuseproof {
namespace {

template <typename Integer>
ValueRange integer_range(std::span<const std::byte> packed) {
  Integer low = std::numeric_limits<Integer>::max();
  Integer high = std::numeric_limits<Integer>::min();
  for (std::size_t at = 0; at < packed.size(); at += sizeof(Integer)) {
    Integer value;
    std::memcpy(&value, packed.data() + at, sizeof(value));
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return {static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
}

std::optional<ValueRange> integer_range(DType dtype, std::span<const std::byte> packed) {
  switch (dtype) {
    case DType::kUint8: return integer_range<std::uint8_t>(packed);
    case DType::kInt8: return integer_range<std::int8_t>(packed);
    case DType::kUint16: return integer_range<std::uint16_t>(packed);
    case DType::kInt16: return integer_range<std::int16_t>(packed);
    case DType::kUint32: return integer_range<std::uint32_t>(packed);
    case DType::kInt32: return integer_range<std::int32_t>(packed);
    case DType::kInt64: return integer_range<std::int64_t>(packed);
    default: return std::nullopt;  // uint64 does not fit
  }
}

std::optional<ValueRange> float_range(const Packed& packed) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (std::size_t element = 0; element < packed.count(); ++element) {
    const double value = value_at(packed, element);
    if (!std::isfinite(value)) continue;
    if (value < 0) return std::nullopt;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return std::nullopt;  // none is finite
  return ValueRange{low, high > 0 ? high : 1};
}

}  // namespace

bool has_value_range(const Layout& layout) {
  const DTypeClass kind = dtype_class(layout.dtype);
  const bool is_number = kind == DTypeClass::kInteger || kind == DTypeClass::kFloat;
  return is_number && element_count(layout) > 0;
}

std::optional<ValueRange> value_range(std::span<const std::byte> storage, const Layout& layout) {
  if (!has_value_range(layout)) return std::nullopt;
  const std::vector<std::byte> packed = gather(storage, layout);
  if (dtype_class(layout.dtype) == DTypeClass::kInteger) return integer_range(layout.dtype, packed);
  return float_range({layout.dtype, packed});
}

}  // namespace fuseproof
