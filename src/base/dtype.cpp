#include "base/dtype.h"

#include <array>

namespace fuseproof {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::size_t size_bytes;
  DTypeClass dtype_class;
  int significand_bits;
};

constexpr std::array kRows = {
    Row{DType::kBool, "bool", 1, DTypeClass::kBool, 0},
    Row{DType::kUint8, "uint8", 1, DTypeClass::kInteger, 0},
    Row{DType::kInt8, "int8", 1, DTypeClass::kInteger, 0},
    Row{DType::kUint16, "uint16", 2, DTypeClass::kInteger, 0},
    Row{DType::kInt16, "int16", 2, DTypeClass::kInteger, 0},
    Row{DType::kUint32, "uint32", 4, DTypeClass::kInteger, 0},
    Row{DType::kInt32, "int32", 4, DTypeClass::kInteger, 0},
    Row{DType::kUint64, "uint64", 8, DTypeClass::kInteger, 0},
    Row{DType::kInt64, "int64", 8, DTypeClass::kInteger, 0},
    Row{DType::kFloat8E4M3FN, "float8_e4m3fn", 1, DTypeClass::kFloat, 4},
    Row{DType::kFloat8E5M2, "float8_e5m2", 1, DTypeClass::kFloat, 3},
    Row{DType::kFloat8E4M3FNUZ, "float8_e4m3fnuz", 1, DTypeClass::kFloat, 4},
    Row{DType::kFloat8E5M2FNUZ, "float8_e5m2fnuz", 1, DTypeClass::kFloat, 3},
    Row{DType::kFloat16, "float16", 2, DTypeClass::kFloat, 11},
    Row{DType::kBFloat16, "bfloat16", 2, DTypeClass::kFloat, 8},
    Row{DType::kFloat32, "float32", 4, DTypeClass::kFloat, 24},
    Row{DType::kFloat64, "float64", 8, DTypeClass::kFloat, 53},
    Row{DType::kComplex32, "complex32", 4, DTypeClass::kComplex, 11},
    Row{DType::kComplex64, "complex64", 8, DTypeClass::kComplex, 24},
    Row{DType::kComplex128, "complex128", 16, DTypeClass::kComplex, 53},
};

constexpr bool rows_follow_the_enum() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_follow_the_enum());

const Row& row(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view dtype_name(DType dtype) { return row(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  constexpr std::string_view kPrefix = "torch.";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  for (const Row& candidate : kRows) {
    if (candidate.name == name) return candidate.dtype;
  }
  return std::nullopt;
}

std::size_t dtype_size_bytes(DType dtype) { return row(dtype).size_bytes; }

DTypeClass dtype_class(DType dtype) { return row(dtype).dtype_class; }

int dtype_significand_bits(DType dtype) { return row(dtype).significand_bits; }

DType dtype_part(DType dtype) {
  switch (dtype) {
    case DType::kComplex32: return DType::kFloat16;
    case DType::kComplex64: return DType::kFloat32;
    case DType::kComplex128: return DType::kFloat64;
    default: return dtype;
  }
}

}  // namespace fuseproof
