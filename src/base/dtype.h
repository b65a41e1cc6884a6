// Element types, under PyTorch's names. Fuseproof knows every dtype by name and size, whether or
// not a given room can compute with it; a room that cannot says so with ErrorKind::kUnsupported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fuseproof {

enum class DType : std::uint8_t {
  kBool,
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kUint64,
  kInt64,
  kFloat8E4M3FN,
  kFloat8E5M2,
  kFloat8E4M3FNUZ,
  kFloat8E5M2FNUZ,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex32,  // two float16
  kComplex64,
  kComplex128,
};

enum class DTypeClass : std::uint8_t { kBool, kInteger, kFloat, kComplex };

// "float32", "bfloat16", …: torch's name without the "torch." prefix.
std::string_view dtype_name(DType dtype);

// Accepts names with and without "torch."; nothing for an unknown name.
std::optional<DType> parse_dtype(std::string_view name);

std::size_t dtype_size_bytes(DType dtype);

DTypeClass dtype_class(DType dtype);

// Bits of the significand including the hidden one (24 for float32) of a float dtype, or of the
// parts of a complex one; 0 otherwise.
int dtype_significand_bits(DType dtype);
inline constexpr int kFloat32SignificandBits = 24;

// The dtype of the real and imaginary parts of a complex dtype; any other dtype is its own part.
DType dtype_part(DType dtype);

}  // namespace fuseproof
