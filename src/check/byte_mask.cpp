#include "check/byte_mask.h"

#include <cstring>

namespace fuseproof {
namespace {

bool covers_all(const Layout& view, std::size_t size_bytes) {
  return view.offset == 0 && is_contiguous(view) && required_storage_bytes(view) == size_bytes;
}

}  // namespace

void ByteMask::mark(const Layout& view) {
  if (extent_ == Extent::kAll || required_storage_bytes(view) == 0) return;
  if (covers_all(view, size_bytes_)) {
    extent_ = Extent::kAll;
    bytes_ = {};
    return;
  }
  bytes_.resize(size_bytes_);
  fuseproof::mark(view, bytes_);
  // Several views may cover it together, or one in another order than that of its strides.
  const bool is_whole = std::memchr(bytes_.data(), 0, bytes_.size()) == nullptr;
  extent_ = is_whole ? Extent::kAll : Extent::kSome;
  if (is_whole) bytes_ = {};
}

}  // namespace fuseproof
