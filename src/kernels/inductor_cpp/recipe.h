// From a recorded build recipe to compiler arguments, through an allow-list: a bundle is data from
// elsewhere, and its flags must not be able to name files, plug-ins or programs. What Inductor
// emits (torch/_inductor/cpp_builder.py) passes, in its order, since later flags override earlier
// ones.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "bundle/kernel_spec.h"

namespace fuseproof {

struct TorchFolders {
  Path include;  // holds torch/csrc/inductor/cpp_prefix.h
  Path lib;      // holds libtorch_cpu.so; may be empty when no library of torch's is linked
};

struct CompilerArguments {
  std::vector<std::string> compile;  // defines, standard, flags, include folders
  std::vector<std::string> link;     // libraries and their folder
};

// Throws kUnsupported naming what is not allowed, with `where` (the bundle's file) in front.
CompilerArguments compiler_arguments(const BuildRecipe& recipe, const TorchFolders& torch,
                                     const std::string& where);

// "g++", "g++-12", "clang++", …: a bare name, looked up in PATH. Throws kUnsupported for any other.
void check_compiler_name(const std::string& compiler, const std::string& where);

}  // namespace fuseproof
