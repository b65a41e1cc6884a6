// Between Fuseproof's plain layouts and storages and torch's tensors.
#pragma once

#include <string_view>

#include <ATen/core/Tensor.h>

#include "tensor/arena.h"
#include "tensor/layout.h"

namespace fuseproof {

at::ScalarType scalar_type(DType dtype);
// Throws kUnsupported for a dtype without a name here.
DType dtype_of(at::ScalarType scalar_type);
inline DType dtype_of(const at::Tensor& tensor) { return dtype_of(tensor.scalar_type()); }
// By torch's names, without "torch.". Throw kUnsupported for names that they do not know.
at::ScalarType scalar_type(std::string_view name);
at::Layout layout_kind(std::string_view name);
at::MemoryFormat memory_format(std::string_view name);
std::string_view memory_format_name(at::MemoryFormat format);
// Throws kUnsupported for a device that is not the CPU.
c10::Device cpu_device(std::string_view name);

// What a run computes in, instead of a program's own float dtypes.
enum class Widening : std::uint8_t {
  kNone,
  kFloat64,          // float64 and complex128 for all floats
  kHalvesToFloat32,  // float32 and complex64 for those that are narrower
};

at::ScalarType widened(at::ScalarType dtype, Widening widening);

// As the dtype holds it; the number itself where the dtype is no float.
double rounded_to(DType dtype, double number);

inline bool is_inexact(at::ScalarType dtype) {
  return at::isFloatingType(dtype) || at::isComplexType(dtype);
}

// A storage over memory that someone else owns and that outlives every tensor in it.
c10::Storage borrow_storage(std::span<std::byte> memory);

// A view into a storage. Tensors of one storage know that they alias, as in the program. Throws
// kBadInput, with `what` in the message, when the view does not fit.
at::Tensor view_storage(const c10::Storage& storage, const Layout& layout, std::string_view what);

// shape, strides and dtype of a tensor, offset 0.
Layout layout_of(const at::Tensor& tensor);

// The tensor's values with the given strides; the tensor itself when it has them already.
at::Tensor restrided(const at::Tensor& tensor, at::IntArrayRef strides);

// Copies the tensor's elements, and the gaps between them, to `memory` of
// required_storage_bytes(layout_of(tensor)).
void copy_extent(const at::Tensor& tensor, std::span<std::byte> memory);

}  // namespace fuseproof
