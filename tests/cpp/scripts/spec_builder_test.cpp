#include "scripts/spec_builder.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "bundle/small_run.h"
#include "temporary_folder.h"

namespace fuseproof {
namespace {

// The specification of the small run's only site, or of one with another kernel or fragment.
BenchmarkSpec spec_of(const TemporaryFolder& folder) {
  FileSystem& files = real_file_system();
  const RunReader run(files, folder.path() / "run");
  return build_benchmark_spec(files, run, run.read_site(run.sites().front()));
}

void write_site_without_calls(const TemporaryFolder& folder, const KernelSpec& spec,
                              const Fragment& fragment) {
  RunWriter::open(real_file_system(), folder.path() / "run", {"p0", "", ""}, Json::object())
      ->write_site(spec, fragment, "kernel", "");
}

}  // namespace

TEST_CASE("the specification is what the bundle says, and of one call") {
  const TemporaryFolder folder;
  write_small_run(real_file_system(), folder.path() / "run");
  const BenchmarkSpec spec = spec_of(folder);
  CHECK(spec.kernel == "cpp_fused_add_0");
  CHECK(spec.site == "000_cpp_fused_add_0");
  CHECK(spec.nodes == std::vector<std::string>{"add"});
  CHECK(spec.user_lines == std::vector<std::string>{"model.py:12: return x + x"});
  CHECK(spec.artifacts.at("source") == "extern \"C\" void kernel() {}\n");
  CHECK(spec.artifacts.at("recipe").at("compiler") == "g++");
  REQUIRE(spec.profile_buffers.size() == 2);
  CHECK(spec.profile_buffers[0].role == ArgumentRole::kIn);
  CHECK(spec.profile_buffers[1].role == ArgumentRole::kOut);
  CHECK(spec.profile_buffers[0].tensor.storage != spec.profile_buffers[1].tensor.storage);
  REQUIRE(spec.precision);
  CHECK(spec.precision->output_names == std::vector<std::string>{"add"});
  REQUIRE(spec.precision->fx_input_meta.size() == 1);
  CHECK(spec.precision->fx_input_meta[0].layout == four_floats());
  CHECK_FALSE(spec.precision->fx_input_meta[0].range);  // -2 is among the recorded values
}

TEST_CASE("without a fragment there is a reason and the kernel all the same") {
  const TemporaryFolder folder;
  Fragment fragment = add_fragment();
  fragment.failure = "the kernel has no origin";
  auto writer =
      RunWriter::open(real_file_system(), folder.path() / "run", {"p0", "", ""}, Json::object());
  writer->write_site(add_spec(), fragment, "kernel", "");
  writer->write_call("000_cpp_fused_add_0",
                     add_call(writer->write_blob(std::as_bytes(std::span(kInputValues)))));
  const BenchmarkSpec spec = spec_of(folder);
  CHECK_FALSE(spec.precision);
  CHECK(spec.no_precision_because == "the kernel has no origin");
  CHECK(spec.profile_buffers.size() == 2);
}

TEST_CASE("without a call the fragment tells what the kernel is called with") {
  const TemporaryFolder folder;
  write_site_without_calls(folder, add_spec(), add_fragment());
  const BenchmarkSpec spec = spec_of(folder);
  REQUIRE(spec.profile_buffers.size() == 2);
  CHECK(spec.profile_buffers[0].tensor.layout == four_floats());
  CHECK(spec.profile_buffers[1].tensor.layout == four_floats());
}

TEST_CASE("without a call, an argument that the fragment does not know is not made up") {
  const TemporaryFolder folder;
  KernelSpec spec = add_spec();
  spec.arguments.push_back({"in_ptr1", ArgumentRole::kIn, "const float*", "arg1_1", {}});
  write_site_without_calls(folder, spec, add_fragment());
  CHECK_THROWS_WITH_AS(spec_of(folder), doctest::Contains("does not say what in_ptr1 is"), Error);
}

}  // namespace fuseproof
