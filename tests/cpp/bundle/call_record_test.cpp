#include "bundle/call_record.h"

#include <doctest/doctest.h>

#include <limits>

#include "base/error.h"
#include "small_run.h"

using namespace fuseproof;

namespace {

const std::string kBlob(32, 'a');

CallRecord parsed(const Json& json) { return call_record_from_json(JsonObject(json, "0.json")); }

}  // namespace

TEST_CASE("a call survives JSON, with integers, floats and symbols") {
  CallRecord call = add_call(kBlob);
  CallArgument size;
  size.kind = CallArgument::Kind::kInteger;
  size.integer = 9;
  CallArgument scale;
  scale.kind = CallArgument::Kind::kFloat;
  scale.number = 0.5;
  call.arguments.push_back(size);
  call.arguments.push_back(scale);
  CallArgument infinite = scale;
  infinite.number = -std::numeric_limits<double>::infinity();
  call.arguments.push_back(infinite);
  call.symbols = {{"s0", 9}, {"zf0", 2.5}, {"zf1", std::numeric_limits<double>::infinity()}};
  const Json json = to_json(call);
  CHECK(to_json(parsed(json)) == json);
  CHECK(parse_json(json.dump(), "text") == json);
  CHECK(parsed(json).symbols == call.symbols);
}

TEST_CASE("views that do not fit their storage are refused") {
  Json json = to_json(add_call(kBlob));
  json["arguments"][0]["layout"]["shape"] = {5};
  CHECK_THROWS_WITH(parsed(json),
                    "0.json: `arguments[0]`: field `layout` needs 20 bytes; storage 0 has 16");
  json = to_json(add_call(kBlob));
  json["arguments"][1]["storage"] = 2;
  CHECK_THROWS_WITH(parsed(json),
                    "0.json: `arguments[1]`: field `storage` is 2, but the call has 2 storages");
}

TEST_CASE("malformed storages are refused") {
  Json json = to_json(add_call(kBlob));
  json["storages"][0]["blob"] = "../../secret";
  CHECK_THROWS_WITH(parsed(json),
                    "0.json: `storages[0]`: field `blob` is not a 128-bit hash in hex");
  json = to_json(add_call(kBlob));
  json["storages"][0].erase("blob");
  CHECK_THROWS_AS(parsed(json), Error);
  json = to_json(add_call(kBlob));
  json["storages"][0]["address_mod_64"] = 64;
  CHECK_THROWS_AS(parsed(json), Error);
  json = to_json(add_call(kBlob));
  json["threads"] = 0;
  CHECK_THROWS_AS(parsed(json), Error);
}

TEST_CASE("a storage that no machine could hold is refused") {
  Json json = to_json(add_call(kBlob));
  json["storages"][0]["size_bytes"] = std::uint64_t{1} << 60;
  CHECK_THROWS_WITH(parsed(json),
                    "0.json: `storages[0]`: field `size_bytes` is 1152921504606846976: no machine "
                    "has that much memory");
}

TEST_CASE("a control word that unmasks an exception, or is none, is refused") {
  for (const std::uint64_t mxcsr : {0x0u, 0x1f00u, 0x11f80u}) {
    Json json = to_json(add_call(kBlob));
    json["mxcsr"] = mxcsr;
    CHECK_THROWS_AS(parsed(json), Error);
  }
  Json json = to_json(add_call(kBlob));
  json["mxcsr"] = 0x9fc0;  // FTZ and DAZ
  CHECK(parsed(json).mxcsr == 0x9fc0);
}

TEST_CASE("the generator is a storage of the call, or absent") {
  CallRecord call = add_call(kBlob);
  CHECK_FALSE(to_json(call).contains("generator"));
  CHECK_FALSE(parsed(to_json(call)).generator);
  call.storages.push_back({.size_bytes = 5056, .address_mod_64 = 0, .blob = kBlob, .omitted = ""});
  call.generator = 2;
  CHECK(parsed(to_json(call)).generator == 2);
  Json json = to_json(call);
  json["generator"] = 3;
  CHECK_THROWS_WITH(parsed(json), "0.json: field `generator` is 3, but the call has 3 storages");
  json["generator"] = 1;
  CHECK_THROWS_WITH(parsed(json), "0.json: field `generator` is the storage of an argument");
}

TEST_CASE("torch's settings survive JSON, and are its defaults where they are absent") {
  CallRecord call = add_call(kBlob);
  call.default_dtype = DType::kFloat64;
  call.float32_precision = {{"matmul", "bf16"}, {"conv", "none"}};
  Json json = to_json(call);
  CHECK(parsed(json).default_dtype == DType::kFloat64);
  CHECK(parsed(json).float32_precision == call.float32_precision);
  json.erase("default_dtype");
  json.erase("float32_precision");
  CHECK(parsed(json).default_dtype == DType::kFloat32);
  CHECK(parsed(json).float32_precision.empty());
  json["default_dtype"] = "int64";
  CHECK_THROWS_WITH(parsed(json),
                    "0.json: field `default_dtype` is no default dtype of PyTorch's: int64");
  json["default_dtype"] = "float16";
  json["float32_precision"] = {{"matmul", "fp4"}};
  CHECK_THROWS_AS(parsed(json), Error);
  json["float32_precision"] = {{"fft", "ieee"}};
  CHECK_THROWS_AS(parsed(json), Error);
}

TEST_CASE("thread counts are judged before they are narrowed") {
  Json json = to_json(add_call(kBlob));
  json["threads"] = (std::int64_t{1} << 32) + 1;
  CHECK_THROWS_WITH(parsed(json), "0.json: field `threads` is 4294967297; expected 1 to 4096");
}

TEST_CASE("a value of another dtype than its argument's view begins at the same byte") {
  CallRecord call;
  call.arguments.resize(1);
  call.arguments[0].layout = {DType::kFloat32, {8}, {1}, 2};  // begins at byte 8
  const SymbolicLayout halves{DType::kFloat16, {4}, {1}, 3};
  CHECK(layout_in_storage(call, 0, std::nullopt, "x") == call.arguments[0].layout);
  CHECK(layout_in_storage(call, 0, halves, "x") == Layout{DType::kFloat16, {4}, {1}, 7});
  const SymbolicLayout doubles{DType::kFloat64, {2}, {1}, 0};
  call.arguments[0].layout.offset = 3;  // byte 12, in the middle of a float64
  CHECK_THROWS_AS(layout_in_storage(call, 0, doubles, "x"), Error);
}
