#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "bindings.h"
#include "tensor/layout.h"
#include "verdict/cann.h"

namespace fuseproof::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

// `address` is that of a tensor without gaps in row-major order, which the caller keeps alive.
ShapedTensor shaped_tensor(std::uintptr_t address, const std::string& dtype,
                           const std::vector<std::int64_t>& shape) {
  const std::optional<DType> known = parse_dtype(dtype);
  if (!known) throw Error(ErrorKind::kUnsupported, dtype + " tensors cannot be compared");
  Layout layout{.dtype = *known, .shape = shape, .strides = contiguous_strides(shape)};
  return {shape,
          {*known, {reinterpret_cast<const std::byte*>(address), required_storage_bytes(layout)}}};
}

std::pair<bool, std::string> compare_cann(const std::string& name, std::uintptr_t expected_address,
                                          const std::string& expected_dtype,
                                          const std::vector<std::int64_t>& expected_shape,
                                          std::uintptr_t actual_address,
                                          const std::string& actual_dtype,
                                          const std::vector<std::int64_t>& actual_shape) {
  const CannResult result =
      judge_cann(name, shaped_tensor(expected_address, expected_dtype, expected_shape),
                 shaped_tensor(actual_address, actual_dtype, actual_shape), CannThresholds{});
  return {result.judgement.verdict == Verdict::kMatch, result.line};
}

}  // namespace

void bind_scripts(nb::module_& module) {
  module.def("compare_cann", &compare_cann, "name"_a, "expected_address"_a, "expected_dtype"_a,
             "expected_shape"_a, "actual_address"_a, "actual_dtype"_a, "actual_shape"_a,
             WithoutGil(),
             "Whether two packed tensors agree by the criteria `cann`, and the line that says so.");
}

}  // namespace fuseproof::python
