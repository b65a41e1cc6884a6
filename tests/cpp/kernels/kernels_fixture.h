// What the tests of the kernels room share: a temporary folder, a tiny stand-in for torch's
// headers, and a site as a capture would have recorded it.
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/files.h"
#include "kernels/inductor_cpp/inductor_cpp_runner.h"
#include "tensor/hash.h"

namespace fuseproof::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "fuseproof-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const Path& path() const { return path_; }

 private:
  Path path_;
};

inline void write_file(const Path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  real_file_system().write_text_atomically(path, text);
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A folder with the one header that every kernel begins with.
inline TorchFolders make_torch(const Path& folder) {
  write_file(folder / "include/torch/csrc/inductor/cpp_prefix.h",
             "#ifndef PREFIX_H\n#define PREFIX_H\n#include <omp.h>\n#include <cstdint>\n#endif\n");
  return {.include = folder / "include", .lib = ""};
}

// Compiles fast; the order is that of Inductor's.
inline BuildRecipe make_recipe() {
  return {.compiler = "g++",
          .compiler_version = "",
          .standard = "c++20",
          .flags = {"O1", "DNDEBUG", "fno-trapping-math", "shared", "fPIC", "fopenmp"},
          .defines = {" C10_USING_CUSTOM_GENERATED_MACROS"},
          .libraries = {"gomp"}};
}

inline const std::string kPrefix = "\n#include <torch/csrc/inductor/cpp_prefix.h>\n";

// out[i] = in[i] * factor + n, four elements.
inline const std::string kScaleSource =
    kPrefix +
    R"(extern "C" void kernel(const float* in_ptr0, float* out_ptr0, const int64_t ks0, float factor)
{
    for (int64_t i = 0; i < 4; ++i) out_ptr0[i] = in_ptr0[i] * factor + static_cast<float>(ks0);
}
)";

inline KernelArgument argument(const char* name, ArgumentRole role, const char* type) {
  KernelArgument result;
  result.name = name;
  result.role = role;
  result.type = type;
  return result;
}

struct Workshop {
  TemporaryFolder folder;
  TorchFolders torch = make_torch(folder.path() / "torch");
  std::vector<std::string> warnings;

  BuilderOptions builder_options() {
    return {.torch = torch,
            .torch_version = "2.13.0",
            .cpu = "this CPU",
            .cache_folder = folder.path() / "cache",
            .warn = [this](const std::string& text) { warnings.push_back(text); }};
  }

  InductorCppOptions runner_options() {
    return {
        .runner = FUSEPROOF_TEST_RUNNER, .builder = builder_options(), .recorded_cpu = "this CPU"};
  }

  // A site whose kernel takes the arguments of kScaleSource.
  SiteBundle make_site(const std::string& source) {
    SiteBundle site;
    site.folder = folder.path() / "run" / "000_cpp_fused_0";
    site.spec.arguments = {argument("in_ptr0", ArgumentRole::kIn, "const float*"),
                           argument("out_ptr0", ArgumentRole::kOut, "float*"),
                           argument("ks0", ArgumentRole::kSize, "const int64_t"),
                           argument("factor", ArgumentRole::kSize, "float")};
    Artifact& artifact = site.spec.artifact;
    artifact.source_file = "kernel.cpp";
    artifact.source_hash = xxh128_hex(source);
    artifact.recipe = make_recipe();
    write_file(site.folder / "kernel.cpp", source);
    return site;
  }

  // Builds the site's source as the recorded program would have done.
  void record_object(SiteBundle& site) {
    BuilderOptions options = builder_options();
    options.cache_folder = folder.path() / "program's own cache";
    const BuildResult built = InductorCppBuilder(real_file_system(), options)
                                  .build(site.folder / "kernel.cpp", site.spec.artifact.recipe, "");
    REQUIRE_MESSAGE(built.succeeded, built.error);
    std::filesystem::copy_file(built.object, site.folder / "kernel.so");
    site.spec.artifact.object_file = "kernel.so";
    site.spec.artifact.object_hash =
        xxh128_hex(real_file_system().map(site.folder / "kernel.so")->bytes());
  }
};

// A call with in_ptr0 in storage 0 and out_ptr0 in storage 1, four floats each.
inline CallRecord make_call() {
  CallRecord call;
  call.storages.resize(2);
  call.arguments.resize(4);
  for (std::size_t i = 0; i < 2; ++i) {
    call.storages[i].size_bytes = 16;
    call.arguments[i].kind = CallArgument::Kind::kTensor;
    call.arguments[i].storage = static_cast<std::int64_t>(i);
    call.arguments[i].layout = {
        .dtype = DType::kFloat32, .shape = {4}, .strides = {1}, .offset = 0};
  }
  call.arguments[2].kind = CallArgument::Kind::kInteger;
  call.arguments[2].integer = 10;
  call.arguments[3].kind = CallArgument::Kind::kFloat;
  call.arguments[3].number = 2.0;
  return call;
}

inline Arena make_arena() {
  const StorageRequest storages[] = {{.size_bytes = 16}, {.size_bytes = 16}};
  Arena arena = Arena::create(storages);
  const float values[] = {1, 2, 3, 4};
  std::memcpy(arena.storage(0).data(), values, sizeof(values));
  return arena;
}

inline std::vector<float> floats(const Arena& arena, std::size_t storage) {
  std::vector<float> values(arena.storage(storage).size() / sizeof(float));
  std::memcpy(values.data(), arena.storage(storage).data(), values.size() * sizeof(float));
  return values;
}

}  // namespace fuseproof::test
