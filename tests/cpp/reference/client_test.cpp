#include "reference/client/reference_client.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "base/error.h"
#include "reference/small_fragment.h"

namespace fuseproof {
namespace {

using test::call;
using test::fragment_of;
using test::VectorCall;

const Argument kX{NodeRef{"x"}};
const std::vector<ReferenceMode> kNativeAlone = {ReferenceMode::kNative};

const Fragment& negation() {
  static const Fragment fragment = fragment_of({call("n", "aten.neg.default", {kX})});
  return fragment;
}

Error failure_of(ReferenceClient& client, const Fragment& fragment) {
  const VectorCall<std::int64_t> input(DType::kInt64, {std::numeric_limits<std::int64_t>::min()});
  try {
    client.run(fragment, input.record, input.arena, kNativeAlone);
  } catch (const Error& error) {
    return error;
  }
  FAIL("the run did not fail");
  return Error(ErrorKind::kInternal, "");
}

TEST_CASE("a worker that is not there is unsupported, and the message says how to get one") {
  ReferenceClient client({.worker = "/nonexistent/fuseproof-reference"});
  client.start();  // the first run is what says so
  const Error error = failure_of(client, negation());
  CHECK(error.kind() == ErrorKind::kUnsupported);
  CHECK_MESSAGE(std::string(error.what()).find("pip install torch") != std::string::npos,
                error.what());
}

TEST_CASE("a worker that ends without an answer is an internal error") {
  ReferenceClient client({.worker = "/bin/false"});
  const Error error = failure_of(client, negation());
  CHECK(error.kind() == ErrorKind::kInternal);
  CHECK_MESSAGE(std::string(error.what()).find("ended with status 1") != std::string::npos,
                error.what());
}

TEST_CASE("a worker whose libraries are missing is unsupported") {
  // The loader's own failure, without breaking an installation: status 127 before any answer.
  const std::string script = "/tmp/fuseproof-unloadable-" + std::to_string(::getpid());
  std::ofstream(script) << "#!/bin/sh\nexit 127\n";
  ::chmod(script.c_str(), 0700);
  ReferenceClient client({.worker = script});
  const Error error = failure_of(client, negation());
  std::remove(script.c_str());
  CHECK(error.kind() == ErrorKind::kUnsupported);
}

#ifdef FUSEPROOF_REFERENCE_WORKER

ReferenceClientOptions real_worker() { return {.worker = FUSEPROOF_REFERENCE_WORKER}; }

TEST_CASE("the worker computes what the operators do, again and again") {
  ReferenceClient client(real_worker());
  client.start();
  for (const std::int64_t value : {3, -8, 0}) {
    const VectorCall<std::int64_t> input(DType::kInt64, {value, 5});
    const ReferenceResult result = client.run(negation(), input.record, input.arena,
                                              {ReferenceMode::kNative, ReferenceMode::kFloat64});
    REQUIRE(result.runs.size() == 2);
    CHECK(test::values_of<std::int64_t>(result, 0) == std::vector<std::int64_t>{-value, -5});
    CHECK(test::values_of<std::int64_t>(result, 1) == std::vector<std::int64_t>{-value, -5});
  }
}

TEST_CASE("an error of the worker keeps its kind and message") {
  ReferenceClient client(real_worker());
  const Error error = failure_of(client, fragment_of({call("n", "aten.no_such.default", {kX})}));
  CHECK(error.kind() == ErrorKind::kUnsupported);
  CHECK(std::string(error.what()).find("aten.no_such.default") != std::string::npos);
}

TEST_CASE("the death of the worker names the node, and the next run has a new worker") {
  ReferenceClient client(real_worker());
  // The smallest int64 divided by -1 does not fit: the processor raises SIGFPE.
  const Error error = failure_of(
      client,
      fragment_of({call("fine", "aten.mul.Tensor", {kX, {std::int64_t{1}}}),
                   call("deadly", "aten.div.Tensor_mode", {{NodeRef{"fine"}}, {std::int64_t{-1}}},
                        {{"rounding_mode", {std::string("trunc")}}})}));
  CHECK(error.kind() == ErrorKind::kInternal);
  const std::string message = error.what();
  CHECK_MESSAGE(message.find("was killed by signal 8") != std::string::npos, message);
  CHECK_MESSAGE(message.find("`deadly`") != std::string::npos, message);

  const VectorCall<std::int64_t> input(DType::kInt64, {4});
  const ReferenceResult result = client.run(negation(), input.record, input.arena, kNativeAlone);
  CHECK(test::values_of<std::int64_t>(result, 0) == std::vector<std::int64_t>{-4});
}

TEST_CASE("a worker over its time limit is stopped") {
  ReferenceClientOptions options = real_worker();
  options.time_limit = std::chrono::seconds(0);
  ReferenceClient client(options);
  const Error error = failure_of(client, negation());
  CHECK(error.kind() == ErrorKind::kInternal);
  CHECK(std::string(error.what()).find("was stopped after 0 s") != std::string::npos);
}

#endif

}  // namespace
}  // namespace fuseproof
