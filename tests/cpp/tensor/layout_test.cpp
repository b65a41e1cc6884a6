#include "tensor/layout.h"

#include <doctest/doctest.h>

#include <cstring>

#include "base/error.h"

using namespace fuseproof;

namespace {

Layout float_layout(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                    std::int64_t offset = 0) {
  return {DType::kFloat32, std::move(shape), std::move(strides), offset};
}

std::vector<std::byte> storage_of(std::initializer_list<float> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Layout parsed(const char* text) {
  const Json json = parse_json(text, "l.json");
  return layout_from_json(JsonObject(json, "l.json"));
}

}  // namespace

TEST_CASE("a transposed view is gathered row by row of the view") {
  // torch.arange(6.).reshape(2, 3).t().contiguous() is 0 3 1 4 2 5.
  const auto storage = storage_of({0, 1, 2, 3, 4, 5});
  CHECK(floats(gather(storage, float_layout({3, 2}, {1, 3}))) ==
        std::vector<float>{0, 3, 1, 4, 2, 5});
}

TEST_CASE("a broadcast dimension repeats its element") {
  const auto storage = storage_of({7, 8});
  CHECK(floats(gather(storage, float_layout({2, 3}, {1, 0}))) ==
        std::vector<float>{7, 7, 7, 8, 8, 8});
}

TEST_CASE("an offset and a step skip elements") {
  const auto storage = storage_of({0, 1, 2, 3, 4, 5});
  CHECK(floats(gather(storage, float_layout({2}, {3}, 1))) == std::vector<float>{1, 4});
}

TEST_CASE("scalars and empty tensors") {
  const auto storage = storage_of({3, 4});
  CHECK(floats(gather(storage, float_layout({}, {}, 1))) == std::vector<float>{4});
  CHECK(gather(storage, float_layout({2, 0}, {1, 1})).empty());
  CHECK(required_storage_bytes(float_layout({2, 0}, {1, 1}, 5)) == 0);
  CHECK(element_count(float_layout({}, {})) == 1);
}

TEST_CASE("scatter undoes gather and leaves the gaps alone") {
  const Layout layout = float_layout({2, 2}, {3, 1}, 1);
  auto storage = storage_of({9, 9, 9, 9, 9, 9});
  scatter(storage_of({1, 2, 3, 4}), layout, storage);
  CHECK(floats(storage) == std::vector<float>{9, 1, 2, 9, 3, 4});
}

TEST_CASE("mark sets the bytes of the view's elements and no others") {
  std::vector<std::uint8_t> mask(24);
  mark(float_layout({2, 2}, {3, 1}), mask);
  for (std::size_t byte = 0; byte < mask.size(); ++byte) {
    const bool is_gap = byte / 4 == 2 || byte / 4 == 5;
    CHECK(mask[byte] == (is_gap ? 0 : 1));
  }
}

TEST_CASE("the last element decides the storage that a layout needs") {
  CHECK(required_storage_bytes(float_layout({2, 3}, {4, 1}, 2)) == (2 + 4 + 2 + 1) * 4);
}

TEST_CASE("contiguity disregards the strides of dimensions of size one") {
  CHECK(is_contiguous(float_layout({8, 1}, {1, 8})));
  CHECK_FALSE(is_contiguous(float_layout({3, 2}, {1, 3})));
  CHECK(is_contiguous(float_layout({0, 5}, {1, 1})));
}

TEST_CASE("text shows strides only where they say something") {
  CHECK(to_string(float_layout({8, 24}, {24, 1})) == "float32[8, 24]");
  CHECK(to_string(float_layout({8, 24}, {1, 8})) == "float32[8, 24; 1, 8]");
}

TEST_CASE("JSON leads back to the same layout") {
  const Layout layout = float_layout({2, 3}, {1, 2}, 4);
  const Json json = to_json(layout);
  CHECK(layout_from_json(JsonObject(json, "l.json")) == layout);
}

TEST_CASE("malformed layouts are refused with the field's name") {
  CHECK_THROWS_WITH(parsed(R"({"dtype": "float31", "shape": [], "strides": [], "offset": 0})"),
                    "l.json: field `dtype` names an unknown dtype `float31`");
  CHECK_THROWS_WITH(parsed(R"({"dtype": "bool", "shape": [2], "strides": [], "offset": 0})"),
                    "l.json: field `strides` has another length than `shape`");
  CHECK_THROWS_WITH(parsed(R"({"dtype": "bool", "shape": [-2], "strides": [1], "offset": 0})"),
                    "l.json: field `shape` holds a negative size");
  CHECK_THROWS_WITH(parsed(R"({"dtype": "bool", "shape": [2], "strides": [1], "offset": -1})"),
                    "l.json: field `offset` is negative");
  CHECK_THROWS_WITH(
      parsed(
          R"({"dtype": "int64", "shape": [4294967296, 4294967296], "strides": [1, 1], "offset": 0})"),
      "l.json: field `shape` describes an impossible size");
}
