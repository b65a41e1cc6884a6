#include "kernels/inductor_cpp/builder.h"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include "base/error.h"
#include "base/search_path.h"
#include "kernels/inductor_cpp/compiler.h"
#include "kernels/kernels_fixture.h"

using namespace fuseproof;
using namespace fuseproof::test;

namespace {

// Small, exact, and free of the OpenMP run time: safe to call in the test's own process.
std::string constant_source(int value) {
  return kPrefix + "extern \"C\" int kernel() { return " + std::to_string(value) + "; }\n";
}

int call(const Path& object) {
  void* handle = ::dlopen(object.c_str(), RTLD_LAZY | RTLD_LOCAL);
  REQUIRE_MESSAGE(handle != nullptr, object.string());
  auto* kernel = reinterpret_cast<int (*)()>(::dlsym(handle, "kernel"));
  REQUIRE((kernel != nullptr));
  return kernel();
}

struct BuilderWorkshop : Workshop {
  Path source(const std::string& text) {
    const Path path = folder.path() / ("source" + std::to_string(sources_++)) / "kernel.cpp";
    write_file(path, text);
    return path;
  }

 private:
  int sources_ = 0;
};

std::size_t count_precompiled(const Path& cache) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cache / "objects")) {
    count += entry.path().string().ends_with(".h.gch");
  }
  return count;
}

}  // namespace

TEST_CASE_FIXTURE(BuilderWorkshop, "a kernel is built, runs, and comes from the cache afterwards") {
  InductorCppBuilder builder(real_file_system(), builder_options());
  const Path path = source(constant_source(7));
  const BuildResult first = builder.build(path, make_recipe(), "kernel.json");
  REQUIRE_MESSAGE(first.succeeded, first.error);
  CHECK_FALSE(first.was_cached);
  CHECK(call(first.object) == 7);
  const BuildResult second = builder.build(path, make_recipe(), "kernel.json");
  CHECK(second.was_cached);
  CHECK(second.object == first.object);
  CHECK(warnings.empty());
}

TEST_CASE_FIXTURE(BuilderWorkshop, "source, flags, torch and CPU are all part of the key") {
  const auto builds = [&](const Path& path, const BuildRecipe& recipe,
                          const BuilderOptions& options) {
    const BuildResult built =
        InductorCppBuilder(real_file_system(), options).build(path, recipe, "kernel.json");
    REQUIRE(built.succeeded);
    return !built.was_cached;
  };
  const Path path = source(constant_source(1));
  const BuildRecipe recipe = make_recipe();
  CHECK(builds(path, recipe, builder_options()));
  CHECK_FALSE(builds(path, recipe, builder_options()));
  CHECK(builds(source(constant_source(2)), recipe, builder_options()));
  BuildRecipe other_flags = recipe;
  other_flags.flags[0] = "O2";
  CHECK(builds(path, other_flags, builder_options()));
  BuildRecipe other_order = recipe;
  std::swap(other_order.flags[1], other_order.flags[2]);
  CHECK(builds(path, other_order, builder_options()));
  BuilderOptions other_torch = builder_options();
  other_torch.torch_version = "2.14.0";
  CHECK(builds(path, recipe, other_torch));
  BuilderOptions other_cpu = builder_options();
  other_cpu.cpu = "another CPU";
  CHECK(builds(path, recipe, other_cpu));
  write_file(torch.include / "torch/csrc/inductor/cpp_prefix.h", "#pragma once\n");
  CHECK(builds(path, recipe, builder_options()));
}

TEST_CASE_FIXTURE(BuilderWorkshop, "a damaged object in the cache is built again") {
  InductorCppBuilder builder(real_file_system(), builder_options());
  const Path path = source(constant_source(5));
  const Path object = builder.build(path, make_recipe(), "kernel.json").object;
  write_file(object, "no object");
  const BuildResult again = builder.build(path, make_recipe(), "kernel.json");
  CHECK_FALSE(again.was_cached);
  CHECK(call(again.object) == 5);
}

TEST_CASE_FIXTURE(BuilderWorkshop,
                  "a refused source gives the first error and a command that shows it again") {
  InductorCppBuilder builder(real_file_system(), builder_options());
  const Path path = source(kPrefix + "extern \"C\" int kernel() { return not_declared; }\n");
  const BuildResult result = builder.build(path, make_recipe(), "kernel.json");
  CHECK_FALSE(result.succeeded);
  CHECK(has(result.error, "kernel.cpp:3"));
  CHECK(has(result.error, "'not_declared' was not declared in this scope"));
  const CompilerRun repeated =
      run_compiler(find_program("sh").value(), {"-c", result.command}, std::chrono::seconds(60));
  CHECK(repeated.status.code == 1);
  CHECK(first_error(repeated.output) == result.error);
}

TEST_CASE_FIXTURE(BuilderWorkshop,
                  "headers and compilers that are not there are errors, no verdicts") {
  const Path path = source(constant_source(1));
  BuildRecipe recipe = make_recipe();
  recipe.compiler = "g++-99";
  InductorCppBuilder builder(real_file_system(), builder_options());
  try {
    builder.build(path, recipe, "kernel.json");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUnsupported);
    CHECK(has(error.what(), "g++-99"));
  }
  BuilderOptions no_headers = builder_options();
  no_headers.torch.include = "/nowhere";
  try {
    InductorCppBuilder(real_file_system(), no_headers).build(path, make_recipe(), "kernel.json");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadInput);
    CHECK(has(error.what(), "/nowhere/torch/csrc/inductor/cpp_prefix.h"));
  }
}

TEST_CASE_FIXTURE(BuilderWorkshop,
                  "a compiler that takes too long is a failed build that says so") {
  // Forty loops of some ten million steps each, for the compiler to run.
  std::string slow = kPrefix + R"(
template <int N> constexpr long steps() {
    long sum = N;
    for (int i = 0; i < 200; ++i) for (int j = 0; j < 20000; ++j) sum += i ^ j;
    return sum;
}
extern "C" long kernel() { long sum = 0;
)";
  for (int i = 0; i < 40; ++i) {
    slow += "    { constexpr long part = steps<" + std::to_string(i) + ">(); sum += part; }\n";
  }
  slow += "    return sum; }\n";
  BuilderOptions options = builder_options();
  options.compile_limit = std::chrono::seconds(1);
  const BuildResult result = InductorCppBuilder(real_file_system(), options)
                                 .build(source(slow), make_recipe(), "kernel.json");
  CHECK_FALSE(result.succeeded);
  CHECK(result.error == "the compiler did not finish in time");
}

TEST_CASE_FIXTURE(BuilderWorkshop, "the header is precompiled after three builds, and then used") {
  const Path cache = builder_options().cache_folder;
  InductorCppBuilder builder(real_file_system(), builder_options());
  for (int i = 0; i < 3; ++i) {
    REQUIRE(builder.build(source(constant_source(i)), make_recipe(), "kernel.json").succeeded);
  }
  CHECK(count_precompiled(cache) == 0);
  const BuildResult fourth =
      builder.build(source(constant_source(3)), make_recipe(), "kernel.json");
  REQUIRE(fourth.succeeded);
  CHECK(call(fourth.object) == 3);
  CHECK(count_precompiled(cache) == 1);

  // A builder reads the header for its key once. What is on disk now shows who else reads it.
  write_file(torch.include / "torch/csrc/inductor/cpp_prefix.h",
             "#ifndef PREFIX_H\n#error read from disk\n#endif\n");
  const BuildResult fifth = builder.build(source(constant_source(4)), make_recipe(), "kernel.json");
  REQUIRE_MESSAGE(fifth.succeeded, fifth.error);
  CHECK(call(fifth.object) == 4);
}

TEST_CASE_FIXTURE(BuilderWorkshop, "without a usable cache folder a kernel is built all the same") {
  BuilderOptions options = builder_options();
  write_file(folder.path() / "file", "");
  options.cache_folder = folder.path() / "file" / "cache";
  InductorCppBuilder builder(real_file_system(), options);
  const BuildResult result =
      builder.build(source(constant_source(4)), make_recipe(), "kernel.json");
  REQUIRE(result.succeeded);
  CHECK(call(result.object) == 4);
  CHECK(warnings.size() == 1);
}
