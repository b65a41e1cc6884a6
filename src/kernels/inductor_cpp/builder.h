// Builds the shared object of an Inductor C++ kernel from its source, as the program that recorded
// it did, with the torch at hand. Objects are cached on disk (kernels/object_cache.h) under a key
// of source, arguments, compiler version, torch version and headers, and CPU.
//
// Torch's header takes two thirds of the compile time (2.3 s of which 0.8 s stay with a precompiled
// one; that takes 5.7 s to build, and 156 MB). So it is precompiled when a builder has built three
// kernels with the same arguments, and used from the start when it is in the cache.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/channel.h"
#include "base/files.h"
#include "bundle/kernel_spec.h"
#include "kernels/inductor_cpp/recipe.h"
#include "kernels/object_cache.h"

namespace fuseproof {

struct BuilderOptions {
  TorchFolders torch;
  std::string torch_version;  // "2.13.0+cpu"
  std::string cpu;            // of this machine: part of the key, since flags say march=native
  Path cache_folder;          // empty: default_cache_folder()
  ObjectCache::Warn warn;     // may be empty
  std::chrono::seconds compile_limit{600};
  IsCancelled is_cancelled = {};  // ends a compiler that runs: kIo; a runner's calls as well
};

struct BuildResult {
  bool succeeded = false;
  Path object;
  bool was_cached = false;
  std::string error;    // the compiler's first error line
  std::string command;  // that reproduces it
};

// For one thread; processes and other builders may share the cache folder.
class InductorCppBuilder {
 public:
  InductorCppBuilder(FileSystem& files, BuilderOptions options);

  // `where` names kernel.json in errors. A source that the compiler refuses is a result; Error is
  // for a recipe that is not allowed, a compiler or headers that are not there (kUnsupported,
  // kBadInput), and a full disk (kIo).
  BuildResult build(const Path& source, const BuildRecipe& recipe, const std::string& where);

 private:
  struct Compiler {
    Path program;
    std::string version;  // first line of --version
  };

  const Compiler& find_compiler(const std::string& name, const std::string& where);
  const std::string& header_hash();
  // What the key of everything built with these arguments has in common.
  std::string key_base(const Compiler& compiler, const CompilerArguments& arguments);
  // Arguments that make the compiler use a precompiled header; none when it does not pay.
  std::vector<std::string> header_arguments(const Compiler& compiler,
                                            const CompilerArguments& arguments,
                                            std::string_view source);
  bool precompile(const Compiler& compiler, const CompilerArguments& arguments, const Path& target);

  FileSystem& files_;
  BuilderOptions options_;
  ObjectCache cache_;
  std::map<std::string, Compiler> compilers_;
  std::string header_hash_;
  std::map<std::string, int> builds_;  // with the arguments of this key base
};

}  // namespace fuseproof
