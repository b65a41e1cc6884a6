#include "scripts/constant_literal.h"

#include <array>
#include <limits>

#include <doctest/doctest.h>

namespace fuseproof {
namespace {

template <typename T, std::size_t count>
std::string literal(const std::array<T, count>& values, const Layout& layout,
                    const std::string& device = "cpu") {
  return constant_literal(std::as_bytes(std::span(values)), layout, device);
}

}  // namespace

TEST_CASE("elements are nested by the shape and read by the strides") {
  const std::array<float, 6> values = {1, 2, 3, 4, 5, 6};
  CHECK(literal(values, {DType::kFloat32, {2, 3}, {3, 1}, 0}) ==
        R"(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float32, device="cpu"))");
  CHECK(literal(values, {DType::kFloat32, {3, 2}, {1, 3}, 0}) ==
        "torch.tensor([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], dtype=torch.float32, device=\"cpu\")");
  CHECK(literal(values, {DType::kFloat32, {}, {}, 5}) ==
        R"(torch.tensor(6.0, dtype=torch.float32, device="cpu"))");
  CHECK(literal(values, {DType::kFloat32, {0}, {1}, 0}) ==
        R"(torch.empty([0], dtype=torch.float32, device="cpu"))");
  CHECK(literal(values, {DType::kFloat32, {2, 0}, {1, 1}, 0}) ==
        R"(torch.empty([2, 0], dtype=torch.float32, device="cpu"))");
}

TEST_CASE("every class of dtypes is written without loss") {
  CHECK(literal(std::array<std::int64_t, 2>{std::numeric_limits<std::int64_t>::min(),
                                            std::numeric_limits<std::int64_t>::max()},
                {DType::kInt64, {2}, {1}, 0}) ==
        "torch.tensor([-9223372036854775808, 9223372036854775807], dtype=torch.int64, "
        "device=\"cpu\")");
  CHECK(literal(std::array<std::uint64_t, 1>{std::numeric_limits<std::uint64_t>::max()},
                {DType::kUint64, {1}, {1}, 0}) ==
        R"(torch.tensor([18446744073709551615], dtype=torch.uint64, device="cpu"))");
  CHECK(literal(std::array<std::int8_t, 1>{-7}, {DType::kInt8, {1}, {1}, 0}) ==
        R"(torch.tensor([-7], dtype=torch.int8, device="cpu"))");
  CHECK(literal(std::array<std::uint8_t, 2>{1, 0}, {DType::kBool, {2}, {1}, 0}) ==
        R"(torch.tensor([True, False], dtype=torch.bool, device="cpu"))");
  CHECK(literal(std::array<float, 2>{1.5F, -2}, {DType::kComplex64, {1}, {1}, 0}) ==
        R"(torch.tensor([complex(1.5, -2.0)], dtype=torch.complex64, device="cpu"))");
  // 0.1 as float32, in float64: what torch.tensor() rounds back to the same float32.
  CHECK(literal(std::array<float, 1>{0.1F}, {DType::kFloat32, {1}, {1}, 0}) ==
        R"(torch.tensor([0.10000000149011612], dtype=torch.float32, device="cpu"))");
}

TEST_CASE("the device loses its index") {
  const std::array<float, 1> one = {1};
  CHECK(literal(one, {DType::kFloat32, {}, {}, 0}, "npu:3") ==
        R"(torch.tensor(1.0, dtype=torch.float32, device="npu"))");
}

}  // namespace fuseproof
