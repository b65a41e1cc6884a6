#include "compare/packed.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {

std::size_t Packed::count() const { return bytes.size() / dtype_size_bytes(dtype); }

std::size_t part_count(const Packed& tensor) {
  return tensor.bytes.size() / dtype_size_bytes(dtype_part(tensor.dtype));
}

void require_comparable(const Packed& a, const Packed& b) {
  if (a.dtype != b.dtype) {
    throw Error(ErrorKind::kUsage,
                fmt::format("cannot compare {} with {}: convert one of them, or report the "
                            "difference of dtypes",
                            dtype_name(a.dtype), dtype_name(b.dtype)));
  }
  for (const Packed* side : {&a, &b}) {
    if (side->bytes.size() % dtype_size_bytes(side->dtype) != 0) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("{} bytes are no whole number of {} elements: pass packed elements",
                              side->bytes.size(), dtype_name(side->dtype)));
    }
  }
  if (a.count() != b.count()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("cannot compare {} elements with {}: compare the shapes first",
                            a.count(), b.count()));
  }
}

}  // namespace fuseproof
