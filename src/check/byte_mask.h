// Which bytes of a storage something covers. Most storages are covered whole or not at all, and
// then take no memory and need no walk over their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/layout.h"

namespace fuseproof {

class ByteMask {
 public:
  enum class Extent : std::uint8_t { kNone, kSome, kAll };

  explicit ByteMask(std::size_t size_bytes) : size_bytes_(size_bytes) {}

  // Marks the bytes of the view's elements. The view lies in the storage.
  void mark(const Layout& view);

  std::size_t size_bytes() const { return size_bytes_; }
  Extent extent() const { return extent_; }
  bool operator[](std::size_t byte) const {
    return extent_ == Extent::kSome ? bytes_[byte] != 0 : extent_ == Extent::kAll;
  }

 private:
  std::size_t size_bytes_;
  Extent extent_ = Extent::kNone;
  std::vector<std::uint8_t> bytes_;  // kSome only
};

}  // namespace fuseproof
