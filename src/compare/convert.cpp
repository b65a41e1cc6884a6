#include "compare/convert.h"

#include <fmt/format.h>

#include "base/error.h"
#include "compare/formats.h"

namespace fuseproof {

double value_at(const Packed& tensor, std::size_t part) {
  if (part >= part_count(tensor)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("part {} of a tensor of {} parts", part, part_count(tensor)));
  }
  return formats::visit(tensor.dtype, [&]<class Format>(Format) {
    return Format::value(formats::load<Format>(tensor.bytes.data(), part));
  });
}

double round_to(DType dtype, double number) {
  return formats::visit(dtype,
                        [&]<class Format>(Format) { return Format::value(Format::round(number)); });
}

}  // namespace fuseproof
