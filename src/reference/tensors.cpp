#include "reference/tensors.h"

#include <cstring>
#include <string>

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

struct DTypeRow {
  DType dtype;
  at::ScalarType scalar_type;
};

constexpr DTypeRow kDTypes[] = {
    {DType::kBool, at::ScalarType::Bool},
    {DType::kUint8, at::ScalarType::Byte},
    {DType::kInt8, at::ScalarType::Char},
    {DType::kUint16, at::ScalarType::UInt16},
    {DType::kInt16, at::ScalarType::Short},
    {DType::kUint32, at::ScalarType::UInt32},
    {DType::kInt32, at::ScalarType::Int},
    {DType::kUint64, at::ScalarType::UInt64},
    {DType::kInt64, at::ScalarType::Long},
    {DType::kFloat8E4M3FN, at::ScalarType::Float8_e4m3fn},
    {DType::kFloat8E5M2, at::ScalarType::Float8_e5m2},
    {DType::kFloat8E4M3FNUZ, at::ScalarType::Float8_e4m3fnuz},
    {DType::kFloat8E5M2FNUZ, at::ScalarType::Float8_e5m2fnuz},
    {DType::kFloat16, at::ScalarType::Half},
    {DType::kBFloat16, at::ScalarType::BFloat16},
    {DType::kFloat32, at::ScalarType::Float},
    {DType::kFloat64, at::ScalarType::Double},
    {DType::kComplex32, at::ScalarType::ComplexHalf},
    {DType::kComplex64, at::ScalarType::ComplexFloat},
    {DType::kComplex128, at::ScalarType::ComplexDouble},
};

struct MemoryFormatRow {
  std::string_view name;
  at::MemoryFormat format;
};

constexpr MemoryFormatRow kMemoryFormats[] = {
    {"contiguous_format", at::MemoryFormat::Contiguous},
    {"preserve_format", at::MemoryFormat::Preserve},
    {"channels_last", at::MemoryFormat::ChannelsLast},
    {"channels_last_3d", at::MemoryFormat::ChannelsLast3d},
};

[[noreturn]] void unknown(std::string_view kind, std::string_view name) {
  throw Error(ErrorKind::kUnsupported,
              fmt::format("the reference does not know the {} `{}`", kind, name));
}

std::string_view without_torch(std::string_view name) {
  constexpr std::string_view kTorch = "torch.";
  return name.starts_with(kTorch) ? name.substr(kTorch.size()) : name;
}

// Elements from the first to the last, gaps included.
std::int64_t extent_elements(at::IntArrayRef shape, at::IntArrayRef strides) {
  std::int64_t last = 0;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] == 0) return 0;
    last += (shape[dim] - 1) * strides[dim];
  }
  return last + 1;
}

// Expanded dimensions (stride 0) cut to length 1, so that every element is written once.
at::Tensor without_repetition(at::Tensor tensor, at::IntArrayRef strides) {
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) {
    if (strides[dim] == 0 && tensor.size(dim) > 1) tensor = tensor.narrow(dim, 0, 1);
  }
  return tensor;
}

}  // namespace

at::ScalarType scalar_type(DType dtype) {
  for (const DTypeRow& row : kDTypes) {
    if (row.dtype == dtype) return row.scalar_type;
  }
  unknown("dtype", dtype_name(dtype));
}

DType dtype_of(at::ScalarType scalar_type) {
  for (const DTypeRow& row : kDTypes) {
    if (row.scalar_type == scalar_type) return row.dtype;
  }
  unknown("dtype", at::toString(scalar_type));
}

at::ScalarType scalar_type(std::string_view name) {
  const std::optional<DType> dtype = parse_dtype(name);
  if (!dtype) unknown("dtype", name);
  return scalar_type(*dtype);
}

at::Layout layout_kind(std::string_view name) {
  if (without_torch(name) == "strided") return at::kStrided;
  unknown("layout", name);
}

at::MemoryFormat memory_format(std::string_view name) {
  for (const MemoryFormatRow& row : kMemoryFormats) {
    if (row.name == without_torch(name)) return row.format;
  }
  unknown("memory format", name);
}

std::string_view memory_format_name(at::MemoryFormat format) {
  for (const MemoryFormatRow& row : kMemoryFormats) {
    if (row.format == format) return row.name;
  }
  unknown("memory format", std::to_string(static_cast<int>(format)));
}

c10::Device cpu_device(std::string_view name) {
  if (name.substr(0, name.find(':')) != "cpu") {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("the reference runs on the CPU; the graph asks for device `{}`", name));
  }
  return c10::Device(c10::DeviceType::CPU);
}

at::ScalarType widened(at::ScalarType dtype, Widening widening) {
  if (widening == Widening::kNone || !is_inexact(dtype)) return dtype;
  const bool is_complex = at::isComplexType(dtype);
  if (widening == Widening::kFloat64) return is_complex ? at::kComplexDouble : at::kDouble;
  if (c10::elementSize(dtype) >= c10::elementSize(is_complex ? at::kComplexFloat : at::kFloat)) {
    return dtype;
  }
  return is_complex ? at::kComplexFloat : at::kFloat;
}

double rounded_to(DType dtype, double number) {
  if (dtype_class(dtype) != DTypeClass::kFloat) return number;
  return at::full({}, number, scalar_type(dtype)).item().toDouble();
}

c10::Storage borrow_storage(std::span<std::byte> memory) {
  return c10::Storage(c10::Storage::use_byte_size_t(), memory.size(),
                      c10::DataPtr(memory.data(), c10::Device(c10::DeviceType::CPU)));
}

at::Tensor view_storage(const c10::Storage& storage, const Layout& layout, std::string_view what) {
  if (required_storage_bytes(layout) > storage.nbytes()) {
    throw Error(ErrorKind::kBadInput,
                fmt::format("{}: a view of {} at offset {} does not fit into a storage of {} bytes",
                            what, to_string(layout), layout.offset, storage.nbytes()));
  }
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
      c10::scalarTypeToTypeMeta(scalar_type(layout.dtype)));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(layout.shape, layout.strides, layout.offset);
  return tensor;
}

Layout layout_of(const at::Tensor& tensor) {
  return {.dtype = dtype_of(tensor),
          .shape = tensor.sizes().vec(),
          .strides = tensor.strides().vec(),
          .offset = 0};
}

at::Tensor restrided(const at::Tensor& tensor, at::IntArrayRef strides) {
  if (tensor.strides() == strides) return tensor;
  const at::Tensor extent = at::zeros({extent_elements(tensor.sizes(), strides)}, tensor.options());
  at::Tensor result = extent.as_strided(tensor.sizes(), strides);
  without_repetition(result, strides).copy_(without_repetition(tensor, strides));
  return result;
}

void copy_extent(const at::Tensor& tensor, std::span<std::byte> memory) {
  const at::Tensor plain = tensor.resolve_conj().resolve_neg();
  if (!memory.empty()) std::memcpy(memory.data(), plain.const_data_ptr(), memory.size());
}

}  // namespace fuseproof
