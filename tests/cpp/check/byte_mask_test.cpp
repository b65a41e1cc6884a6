#include "check/byte_mask.h"

#include <doctest/doctest.h>

using namespace fuseproof;

namespace {

std::vector<int> marked(const ByteMask& mask) {
  std::vector<int> bytes;
  for (std::size_t i = 0; i < mask.size_bytes(); ++i) bytes.push_back(mask[i] ? 1 : 0);
  return bytes;
}

}  // namespace

TEST_CASE("nothing is marked at first, and an empty view marks nothing") {
  ByteMask mask(4);
  mask.mark({DType::kInt8, {0}, {1}, 2});
  CHECK(mask.extent() == ByteMask::Extent::kNone);
  CHECK(marked(mask) == std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("a view marks its elements and leaves the gaps") {
  ByteMask mask(10);
  mask.mark({DType::kInt16, {2}, {2}, 1});
  CHECK(mask.extent() == ByteMask::Extent::kSome);
  CHECK(marked(mask) == std::vector<int>{0, 0, 1, 1, 0, 0, 1, 1, 0, 0});
}

TEST_CASE("a whole storage is known as such, however its views lie") {
  ByteMask contiguous(8);
  contiguous.mark({DType::kInt16, {2, 2}, {2, 1}, 0});
  CHECK(contiguous.extent() == ByteMask::Extent::kAll);
  ByteMask transposed(8);
  transposed.mark({DType::kInt16, {2, 2}, {1, 2}, 0});
  CHECK(transposed.extent() == ByteMask::Extent::kAll);
  ByteMask halves(4);
  halves.mark({DType::kInt16, {1}, {1}, 1});
  halves.mark({DType::kInt16, {1}, {1}, 0});
  CHECK(halves.extent() == ByteMask::Extent::kAll);
  CHECK(marked(halves) == std::vector<int>{1, 1, 1, 1});
}

TEST_CASE("a storage without bytes has none marked") {
  ByteMask mask(0);
  mask.mark({DType::kFloat32, {3, 0}, {1, 1}, 0});
  CHECK(mask.extent() == ByteMask::Extent::kNone);
}
