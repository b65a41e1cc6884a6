#include "compare/pair_reader.h"

#include <array>
#include <cstring>

#include "compare/formats.h"
#include "compare/pair_kernels.h"

namespace fuseproof {
namespace {

template <typename T>
bool is_aligned(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address) % alignof(T) == 0;
}

// The values of all patterns of a float8 dtype.
template <class Format>
constexpr std::array<double, 256> table_of_values() {
  std::array<double, 256> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = Format::value(static_cast<typename Format::Bits>(i));
  }
  return values;
}

// float8 needs no scale: its squares are far from overflowing.
template <class Format>
void widen(const std::byte* source, double* target, std::size_t size, double scale) {
  if constexpr (sizeof(typename Format::Bits) == 1 && !Format::kIsInteger) {
    static constexpr std::array<double, 256> kValues = table_of_values<Format>();
    for (std::size_t i = 0; i < size; ++i) target[i] = kValues[std::to_integer<int>(source[i])];
  } else {
    for (std::size_t i = 0; i < size; ++i) {
      target[i] = Format::value(formats::load<Format>(source, i)) * scale;
    }
  }
}

}  // namespace

template <>
const float* PairReader<float>::side(const Packed& tensor, std::size_t begin, std::size_t size,
                                     float* buffer) const {
  const DType part = dtype_part(tensor.dtype);
  const std::byte* source = tensor.bytes.data() + begin * dtype_size_bytes(part);
  if (part == DType::kFloat16) {
    widen_float16(source, buffer, size);
    return buffer;
  }
  if (part == DType::kBFloat16) {
    widen_bfloat16(source, buffer, size);
    return buffer;
  }
  if (is_aligned<float>(source)) return reinterpret_cast<const float*>(source);
  std::memcpy(buffer, source, size * sizeof(float));
  return buffer;
}

template <>
const double* PairReader<double>::side(const Packed& tensor, std::size_t begin, std::size_t size,
                                       double* buffer) const {
  const DType part = dtype_part(tensor.dtype);
  const std::byte* source = tensor.bytes.data() + begin * dtype_size_bytes(part);
  if (part == DType::kFloat64 && scale_ == 1.0 && is_aligned<double>(source)) {
    return reinterpret_cast<const double*>(source);
  }
  formats::visit(part, [&]<class Format>(Format) { widen<Format>(source, buffer, size, scale_); });
  return buffer;
}

}  // namespace fuseproof
