#include "reference/fragment_program.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "reference/small_fragment.h"

namespace fuseproof {
namespace {

using test::call;
using test::fragment_of;
using test::VectorCall;

const Argument kX{NodeRef{"x"}};

ErrorKind kind_of_failure(std::vector<Node> calls, std::string* message) {
  try {
    const FragmentProgram program(fragment_of(std::move(calls)));
  } catch (const Error& error) {
    *message = error.what();
    return error.kind();
  }
  FAIL("the fragment was accepted");
  return ErrorKind::kInternal;
}

TEST_CASE("an operator that this process does not have is unsupported, with node and target") {
  std::string message;
  for (const char* target : {"aten.no_such_op.default", "aten.add.NoSuchOverload",
                             "prims.svd.default", "_operator", "mylib.custom.default"}) {
    CAPTURE(target);
    CHECK(kind_of_failure({call("n", target, {kX})}, &message) == ErrorKind::kUnsupported);
    CHECK(message.find("`n`") != std::string::npos);
    CHECK(message.find(target) != std::string::npos);
  }
}

TEST_CASE("arguments that the schema does not allow are bad input, with node and parameter") {
  const Argument two{std::int64_t{2}};
  struct Case {
    Node node;
    const char* expected;
  };
  const std::vector<Case> cases = {
      {call("n", "aten.mul.Tensor", {kX}), "needs its argument `other`"},
      {call("n", "aten.relu.default", {kX, two}), "too many arguments"},
      {call("n", "aten.add.Tensor", {kX, two}, {{"beta", two}}), "no argument `beta`"},
      {call("n", "aten.sum.dim_IntList", {kX, {ArgumentList{{2.5}}}}), "`dim`"},
      {call("n", "aten.softmax.int", {kX, {std::string("rows")}}), "`dim`"},
      {call("n", "aten.relu.default", {{None{}}}), "`self`"},
      {call("n", "aten.mul.Tensor", {kX, {NodeRef{"later"}}}), "uses `later`"},
      {call("n", "aten._to_copy.default", {kX}, {{"dtype", {TorchConstant{"layout", "strided"}}}}),
       "`dtype`"},
  };
  for (const Case& entry : cases) {
    CAPTURE(entry.expected);
    std::string message;
    CHECK(kind_of_failure({entry.node}, &message) == ErrorKind::kBadInput);
    CHECK(message.find("`n`") != std::string::npos);
    CHECK_MESSAGE(message.find(entry.expected) != std::string::npos, message);
  }
}

TEST_CASE("devices other than the CPU are unsupported") {
  std::string message;
  const Node node =
      call("n", "aten._to_copy.default", {kX}, {{"device", {TorchConstant{"device", "cuda:0"}}}});
  CHECK(kind_of_failure({node}, &message) == ErrorKind::kUnsupported);
  CHECK(message.find("cuda:0") != std::string::npos);
}

TEST_CASE("both opinions come back, and the inputs stay as they were") {
  // 16777216 + 1 is 16777216 in float32.
  const VectorCall<float> input(DType::kFloat32, {1, 16777216});
  const FragmentProgram program(fragment_of({call("n", "aten.add_.Tensor", {kX, {1.0}})}));
  const ReferenceResult result = program.run(
      input.record, input.arena, {ReferenceMode::kNative, ReferenceMode::kFloat64}, nullptr);
  CHECK(test::values_of<float>(result, 0) == std::vector<float>{2, 16777216});
  CHECK(test::values_of<double>(result, 1) == std::vector<double>{2, 16777217});
  const auto* kept = reinterpret_cast<const float*>(input.arena.storage(0).data());
  CHECK(kept[0] == 1);
  CHECK(kept[1] == 16777216);
}

TEST_CASE("an input bound to a part of an argument sees that part") {
  const VectorCall<float> input(DType::kFloat32, {1, 2, 3, 4, 5, 6});
  Fragment fragment = fragment_of({call("n", "aten.neg.default", {kX})});
  fragment.inputs[0].layout =
      SymbolicLayout{.dtype = DType::kFloat32, .shape = {2}, .strides = {3}, .offset = 1};
  const FragmentProgram program(std::move(fragment));
  const ReferenceResult result =
      program.run(input.record, input.arena, {ReferenceMode::kNative}, nullptr);
  CHECK(test::values_of<float>(result, 0) == std::vector<float>{-2, -5});
}

TEST_CASE("a binding that does not fit the call is bad input") {
  const VectorCall<float> input(DType::kFloat32, {1, 2});
  Fragment fragment = fragment_of({call("n", "aten.neg.default", {kX})});
  SUBCASE("no such argument") { fragment.inputs[0].argument = 3; }
  SUBCASE("a view beyond the storage") {
    fragment.inputs[0].layout =
        SymbolicLayout{.dtype = DType::kFloat32, .shape = {2}, .strides = {1}, .offset = 1};
  }
  const FragmentProgram program(std::move(fragment));
  CHECK_THROWS_WITH_AS(program.run(input.record, input.arena, {ReferenceMode::kNative}, nullptr),
                       doctest::Contains("`x`"), Error);
}

TEST_CASE("a generator whose state is none of this torch's is bad input") {
  VectorCall<float> input(DType::kFloat32, {1, 2});
  input.record.generator = 0;
  const FragmentProgram program(fragment_of({call("n", "aten.rand_like.default", {kX})}));
  CHECK_THROWS_WITH_AS(program.run(input.record, input.arena, {ReferenceMode::kNative}, nullptr),
                       doctest::Contains("generator state"), Error);
}

TEST_CASE("an output that is no tensor is bad input") {
  const VectorCall<float> input(DType::kFloat32, {1});
  const FragmentProgram program(fragment_of({call("n", "aten.item.default", {kX})}));
  CHECK_THROWS_WITH_AS(program.run(input.record, input.arena, {ReferenceMode::kNative}, nullptr),
                       doctest::Contains("`n` is no tensor"), Error);
}

}  // namespace
}  // namespace fuseproof
