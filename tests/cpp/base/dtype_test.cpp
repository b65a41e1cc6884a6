#include "base/dtype.h"

#include <doctest/doctest.h>

using namespace fuseproof;

TEST_CASE("a dtype is found by torch's name with and without its prefix") {
  CHECK(parse_dtype("float32") == DType::kFloat32);
  CHECK(parse_dtype("torch.bfloat16") == DType::kBFloat16);
  CHECK(parse_dtype("torch.float8_e4m3fn") == DType::kFloat8E4M3FN);
  CHECK_FALSE(parse_dtype("float"));
  CHECK_FALSE(parse_dtype(""));
}

TEST_CASE("sizes and significands are those of IEEE 754 and of torch.finfo") {
  CHECK(dtype_size_bytes(DType::kBool) == 1);
  CHECK(dtype_size_bytes(DType::kBFloat16) == 2);
  CHECK(dtype_size_bytes(DType::kComplex128) == 16);
  CHECK(dtype_significand_bits(DType::kFloat16) == 11);
  CHECK(dtype_significand_bits(DType::kFloat32) == 24);
  CHECK(dtype_significand_bits(DType::kFloat64) == 53);
  CHECK(dtype_significand_bits(DType::kInt64) == 0);
}

TEST_CASE("the parts of a complex dtype are floats of half its size") {
  CHECK(dtype_part(DType::kComplex64) == DType::kFloat32);
  CHECK(dtype_part(DType::kInt8) == DType::kInt8);
}
