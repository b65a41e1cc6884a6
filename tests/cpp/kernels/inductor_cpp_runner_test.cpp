#include "kernels/inductor_cpp/inductor_cpp_runner.h"

#include <fstream>

#include <doctest/doctest.h>

#include "base/error.h"
#include "kernels/kernels_fixture.h"
#include "tensor/hash.h"

using namespace fuseproof;
using namespace fuseproof::test;

namespace {

std::string kernel_source(const std::string& body) {
  return kPrefix +
         "extern \"C\" void kernel(const float* in_ptr0, float* out_ptr0, const int64_t ks0, float "
         "factor)\n{\n" +
         body + "\n}\n";
}

// Prepares and runs a kernel with this body on a fresh arena.
KernelRun run_body(Workshop& workshop, const std::string& body, CallRecord call = make_call(),
                   RunLimits limits = {}) {
  InductorCppRunner runner(real_file_system(), workshop.runner_options());
  const SiteBundle site = workshop.make_site(kernel_source(body));
  REQUIRE(runner.prepare(site).outcome == KernelOutcome::kReturned);
  Arena arena = make_arena();
  return runner.run(site, call, arena, limits);
}

void check_bad_input(Workshop& workshop, const SiteBundle& site, const std::string& part) {
  InductorCppRunner runner(real_file_system(), workshop.runner_options());
  try {
    runner.prepare(site);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadInput);
    CHECK(has(error.what(), "kernel.json"));
    CHECK_MESSAGE(has(error.what(), part), error.what());
  }
}

}  // namespace

TEST_CASE_FIXTURE(Workshop, "the recorded object is used, and computes on the call's arguments") {
  SiteBundle site = make_site(kScaleSource);
  record_object(site);
  InductorCppRunner runner(real_file_system(), runner_options());
  const KernelRun prepared = runner.prepare(site);
  CHECK(prepared.outcome == KernelOutcome::kReturned);
  CHECK(prepared.object == "recorded");
  CHECK(prepared.message.empty());
  Arena arena = make_arena();
  const KernelRun run = runner.run(site, make_call(), arena, {});
  CHECK(run.outcome == KernelOutcome::kReturned);
  CHECK(run.object == "recorded");
  CHECK(run.guard_hits.empty());
  CHECK(run.time_ns > 0);
  CHECK(floats(arena, 1) == std::vector<float>{12, 14, 16, 18});
  CHECK(floats(arena, 0) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE_FIXTURE(Workshop,
                  "an edited source is announced, rebuilt, and cached under its own content") {
  SiteBundle site = make_site(kScaleSource);
  record_object(site);
  std::string edited = kScaleSource;
  edited.replace(edited.find("* factor"), 8, "- factor");
  write_file(site.folder / "kernel.cpp", edited);
  {
    InductorCppRunner runner(real_file_system(), runner_options());
    const KernelRun prepared = runner.prepare(site);
    CHECK(prepared.object == "rebuilt");
    CHECK(prepared.message == "kernel.cpp was edited since it was recorded: rebuilt");
    Arena arena = make_arena();
    CHECK(runner.run(site, make_call(), arena, {}).object == "rebuilt");
    CHECK(floats(arena, 1) == std::vector<float>{9, 10, 11, 12});
  }
  InductorCppRunner later(real_file_system(), runner_options());
  CHECK(later.prepare(site).object == "cache");
  CHECK(has(later.prepare(site).message, "was edited"));
}

TEST_CASE_FIXTURE(Workshop, "a damaged object is an error that names file and field") {
  SiteBundle site = make_site(kScaleSource);
  record_object(site);
  write_file(site.folder / "kernel.so", "damaged");
  check_bad_input(*this, site, "artifact.object_hash");
}

TEST_CASE_FIXTURE(Workshop, "an absent object is rebuilt, and that is said") {
  SiteBundle site = make_site(kScaleSource);
  record_object(site);
  std::filesystem::remove(site.folder / "kernel.so");
  InductorCppRunner runner(real_file_system(), runner_options());
  const KernelRun prepared = runner.prepare(site);
  CHECK(prepared.object == "rebuilt");
  CHECK(prepared.message == "kernel.so is absent: rebuilt");
}

TEST_CASE_FIXTURE(Workshop, "a damaged object beside an edited source is of no account") {
  SiteBundle site = make_site(kScaleSource);
  record_object(site);
  write_file(site.folder / "kernel.so", "damaged");
  write_file(site.folder / "kernel.cpp", kScaleSource + "// edited\n");
  InductorCppRunner runner(real_file_system(), runner_options());
  CHECK(runner.prepare(site).object == "rebuilt");
}

TEST_CASE_FIXTURE(Workshop, "a missing source is an error, beside a whole object too") {
  SiteBundle site = make_site(kScaleSource);
  record_object(site);
  std::filesystem::remove(site.folder / "kernel.cpp");
  check_bad_input(*this, site, "artifact.source_file");
}

TEST_CASE_FIXTURE(Workshop,
                  "an object from another CPU is rebuilt for this one, and both are named") {
  SiteBundle site = make_site(kScaleSource);
  record_object(site);
  InductorCppOptions options = runner_options();
  options.recorded_cpu = "that CPU";
  InductorCppRunner runner(real_file_system(), options);
  const KernelRun prepared = runner.prepare(site);
  CHECK(prepared.object == "rebuilt");
  CHECK(has(prepared.message, "that CPU"));
  CHECK(has(prepared.message, "this CPU"));
}

TEST_CASE_FIXTURE(Workshop,
                  "a kernel that was built on its own machine and is refused here is no finding") {
  SiteBundle site = make_site(kScaleSource);
  record_object(site);
  // Stands for what the headers or the compiler here do not know.
  const std::string source = kernel_source("    out_ptr0[0] = not_declared;");
  std::ofstream(site.folder / "kernel.cpp") << source;
  site.spec.artifact.source_hash = xxh128_hex(source);
  InductorCppOptions options = runner_options();
  options.recorded_cpu = "that CPU";
  InductorCppRunner runner(real_file_system(), options);
  try {
    runner.prepare(site);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUnsupported);
    CHECK(has(error.what(), "cannot be built here"));
    CHECK(has(error.what(), "not_declared"));
  }
}

TEST_CASE_FIXTURE(Workshop,
                  "a kernel that its program could not build is asked of the compiler again") {
  SiteBundle site = make_site(kernel_source("    out_ptr0[0] = not_declared;"));
  site.spec.artifact.build_error = "g++ said no";
  InductorCppRunner runner(real_file_system(), runner_options());
  const KernelRun prepared = runner.prepare(site);
  CHECK(prepared.outcome == KernelOutcome::kDidNotBuild);
  CHECK(has(prepared.message, "kernel.cpp:5:19: error: 'not_declared' was not declared"));
  CHECK(has(prepared.message, "to reproduce: /"));
  CHECK(has(prepared.message, (site.folder / "kernel.cpp").string()));
  Arena arena = make_arena();
  CHECK(runner.run(site, make_call(), arena, {}).outcome == KernelOutcome::kDidNotBuild);
}

TEST_CASE_FIXTURE(Workshop, "a kernel without a recorded object is built") {
  InductorCppRunner runner(real_file_system(), runner_options());
  const SiteBundle site = make_site(kScaleSource);
  Arena arena = make_arena();
  CHECK(runner.run(site, make_call(), arena, {}).object == "rebuilt");  // prepares by itself
  CHECK(floats(arena, 1) == std::vector<float>{12, 14, 16, 18});
  CHECK(runner.prepare(site).message == "no object was recorded: rebuilt");
}

TEST_CASE_FIXTURE(Workshop, "writes into bands and guard pages are guard hits, in a run each") {
  // The storage's end is a multiple of 64 in neither arena: a band lies before the guard page.
  const StorageRequest storages[] = {{.size_bytes = 16}, {.size_bytes = 16, .address_mod_64 = 16}};
  Arena arena = Arena::create(storages);
  InductorCppRunner runner(real_file_system(), runner_options());
  const SiteBundle site = make_site(kernel_source("    out_ptr0[ks0] = 1;"));
  CallRecord call = make_call();
  call.arguments[2].integer = 4;
  const KernelRun band = runner.run(site, call, arena, {});
  CHECK(band.outcome == KernelOutcome::kReturned);
  REQUIRE(band.guard_hits.size() == 1);
  CHECK(band.guard_hits[0].storage == 1);
  CHECK(band.guard_hits[0].byte_offset == 16);
  CHECK(band.guard_hits[0].is_write);

  call.arguments[2].integer =
      (16 + 48) / 4;  // 16 bytes of storage from 16 on: 32 are left of a line
  const KernelRun page = runner.run(site, call, arena, {});
  CHECK(page.outcome == KernelOutcome::kReturned);
  REQUIRE(page.guard_hits.size() == 1);
  CHECK(page.guard_hits[0].byte_offset == 64);
  CHECK(page.guard_hits[0].is_write);

  call.arguments[2].integer = 0;
  CHECK(runner.run(site, call, arena, {}).guard_hits.empty());
}

TEST_CASE_FIXTURE(Workshop, "what a kernel does instead of returning is its outcome") {
  write_file(torch.include / "torch/csrc/inductor/cpp_prefix.h", "#include <stdexcept>\n");
  const KernelRun thrown = run_body(*this, "    throw std::out_of_range(\"index 9\");");
  CHECK(thrown.outcome == KernelOutcome::kException);
  CHECK(thrown.message == "std::out_of_range: index 9");
  const KernelRun crash = run_body(*this, "    *(volatile int*)nullptr = 0;");
  CHECK(crash.outcome == KernelOutcome::kCrashed);
  CHECK(has(crash.message, "SIGSEGV"));
  const KernelRun hang = run_body(*this, "    for (volatile int i = 0;;) (void)i;", make_call(),
                                  {.cpu_seconds = 1, .wall_seconds = 60});
  CHECK(hang.outcome == KernelOutcome::kHung);
}

TEST_CASE_FIXTURE(Workshop, "threads and the control word are those of the call") {
  CallRecord call = make_call();
  call.threads = 3;
  call.mxcsr = 0x9fc0;
  SiteBundle site = make_site(kernel_source(R"(    #pragma omp parallel
    #pragma omp single
    out_ptr0[0] = omp_get_num_threads();
    out_ptr0[1] = in_ptr0[0] * 1e-38f * 1e-2f;)"));
  InductorCppRunner runner(real_file_system(), runner_options());
  Arena arena = make_arena();
  const KernelRun run = runner.run(site, call, arena, {});
  CHECK(run.outcome == KernelOutcome::kReturned);
  CHECK(run.mxcsr_after == 0x9fc0);
  CHECK(floats(arena, 1)[0] == 3.0f);
  CHECK(floats(arena, 1)[1] == 0.0f);  // 1e-40 is subnormal
}

TEST_CASE_FIXTURE(Workshop, "views start at their offset in the storage") {
  CallRecord call = make_call();
  call.arguments[0].layout.shape = {1};
  call.arguments[0].layout.offset = 3;
  SiteBundle site = make_site(kernel_source("    out_ptr0[0] = in_ptr0[0];"));
  InductorCppRunner runner(real_file_system(), runner_options());
  Arena arena = make_arena();
  REQUIRE(runner.run(site, call, arena, {}).outcome == KernelOutcome::kReturned);
  CHECK(floats(arena, 1)[0] == 4.0f);
}

TEST_CASE_FIXTURE(Workshop,
                  "a call that does not fit the signature, and a foreign kind, are errors") {
  const SiteBundle site = make_site(kScaleSource);
  CallRecord call = make_call();
  call.arguments.pop_back();
  InductorCppRunner runner(real_file_system(), runner_options());
  Arena arena = make_arena();
  CHECK_THROWS_WITH_AS(runner.run(site, call, arena, {}),
                       doctest::Contains("has 3 arguments, and the kernel takes 4"), Error);
  SiteBundle foreign = site;
  foreign.spec.artifact.kind = "triton";
  CHECK_THROWS_WITH_AS(runner.prepare(foreign), doctest::Contains("triton"), Error);
}

TEST_CASE_FIXTURE(Workshop, "a double argument keeps its digits") {
  SiteBundle site = make_site(
      kPrefix +
      "extern \"C\" void kernel(const float*, double* out_ptr0, const int64_t, const double "
      "value) { out_ptr0[0] = value; }\n");
  site.spec.arguments[3].type = "const double";
  CallRecord call = make_call();
  call.arguments[3].number = 0.1;
  InductorCppRunner runner(real_file_system(), runner_options());
  Arena arena = make_arena();
  REQUIRE(runner.run(site, call, arena, {}).outcome == KernelOutcome::kReturned);
  double value = 0;
  std::memcpy(&value, arena.storage(1).data(), sizeof(value));
  CHECK(value == 0.1);
}
