#include "scripts/constant_literal.h"

#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compare/convert.h"
#include "scripts/python_source.h"

namespace fuseproof {
namespace {

std::string element_text(const Packed& packed, std::size_t element) {
  switch (dtype_class(packed.dtype)) {
    case DTypeClass::kBool: return value_at(packed, element) != 0 ? "True" : "False";
    case DTypeClass::kComplex:
      return fmt::format("complex({}, {})", python_literal(value_at(packed, 2 * element)),
                         python_literal(value_at(packed, 2 * element + 1)));
    case DTypeClass::kFloat: return python_literal(value_at(packed, element));
    case DTypeClass::kInteger: break;
  }
  if (packed.dtype == DType::kInt64 || packed.dtype == DType::kUint64) {
    std::int64_t value = 0;
    std::memcpy(&value, packed.bytes.data() + element * sizeof(value), sizeof(value));
    const bool is_signed = packed.dtype == DType::kInt64;
    return is_signed ? fmt::format("{}", value)
                     : fmt::format("{}", static_cast<std::uint64_t>(value));
  }
  return fmt::format("{:.0f}", value_at(packed, element));
}

// Nested lists; `element` counts on through them.
std::string nested(const Packed& packed, std::span<const std::int64_t> shape,
                   std::size_t& element) {
  if (shape.empty()) return element_text(packed, element++);
  std::string text = "[";
  for (std::int64_t i = 0; i < shape.front(); ++i) {
    text += (i == 0 ? "" : ", ") + nested(packed, shape.subspan(1), element);
  }
  return text + "]";
}

}  // namespace

std::string constant_literal(std::span<const std::byte> storage, const Layout& layout,
                             const std::string& device) {
  const std::string options = fmt::format("dtype=torch.{}, device={}", dtype_name(layout.dtype),
                                          python_literal(without_device_index(device)));
  if (element_count(layout) == 0) {
    return fmt::format("torch.empty([{}], {})", fmt::join(layout.shape, ", "), options);
  }
  const std::vector<std::byte> bytes = gather(storage, layout);
  std::size_t element = 0;
  return fmt::format("torch.tensor({}, {})", nested({layout.dtype, bytes}, layout.shape, element),
                     options);
}

}  // namespace fuseproof
