// kernel.json: what one call site of a fused kernel is, apart from the values it was called with.
//
// All that a runner or a writer of scripts needs, and nothing of torch. Unknown fields of the file
// are kept when it is written again; a newer major version of the schema is refused.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace fuseproof {

inline constexpr int kBundleVersionMajor = 1;
inline constexpr int kBundleVersionMinor = 2;

enum class ArgumentRole : std::uint8_t { kIn, kOut, kInOut, kSize };

struct KernelArgument {
  std::string name;  // in the kernel's signature: "in_ptr0"
  ArgumentRole role = ArgumentRole::kIn;
  std::string type;                  // C++ type in the signature: "const float*", "const int64_t"
  std::string value;                 // Inductor's name of what is passed: "buf3", "arg0_1", "s0"
  std::vector<std::string> aliases;  // in-place chain, oldest first, when more than one name
};

// How the program built the kernel, in types and not as a command line: a rebuild maps each entry
// to an allow-listed flag, takes include and library folders from the torch at hand, and uses no
// shell.
struct BuildRecipe {
  std::string compiler;                // "g++"
  std::string compiler_version;        // first line of --version; for information
  std::string standard;                // "c++20"
  std::vector<std::string> flags;      // without the dash: "O3", "fno-signed-zeros", "march=native"
  std::vector<std::string> defines;    // "CPU_CAPABILITY_AVX512", "NAME=VALUE"
  std::vector<std::string> libraries;  // "gomp"
};

struct Artifact {
  std::string kind = "inductor_cpp";  // which runner takes it
  std::string entry = "kernel";       // symbol of the kernel function
  std::string source_file;            // in the site's folder: "kernel.cpp"
  std::string source_hash;            // xxh128 of its content
  std::string object_file;            // "kernel.so"; empty when the program could not build it
  std::string object_hash;
  std::string build_error;  // the program's own compiler message, when it failed
  BuildRecipe recipe;
};

struct KernelSpec {
  int version_major = kBundleVersionMajor;
  int version_minor = kBundleVersionMinor;
  std::string kernel;  // "cpp_fused_add_relu_0"
  std::string site;    // "003_cpp_fused_add_relu_0"
  std::string graph;   // id of the lowered graph in the run: "0"; of its second sub-graph: "0.1"
  std::string device = "cpu";
  int threads = 1;  // torch.get_num_threads() when the code was generated
  bool is_static = true;
  bool cpp_wrapper = false;
  std::vector<KernelArgument> arguments;  // in call order
  std::map<std::string, std::int64_t> symbol_hints;
  std::vector<std::string> nodes;  // names of the fused FX nodes, for people
  Artifact artifact;
  Json unknown_fields = Json::object();  // of a newer minor version; written back as they were
};

struct BundleVersion {
  int major_number = kBundleVersionMajor;
  int minor_number = kBundleVersionMinor;
};
// Reads the field `version` ("1.0") of run.json or kernel.json. Throws kBadInput when it is
// malformed and kUnsupported when its major number is newer than this program's.
BundleVersion read_bundle_version(const JsonObject& object);

Json to_json(const KernelSpec& spec);
// Throws kBadInput (malformed) or kUnsupported (newer major version).
KernelSpec kernel_spec_from_json(const JsonObject& object);

// "in", "out", "inout", "size".
std::string_view role_name(ArgumentRole role);

}  // namespace fuseproof
