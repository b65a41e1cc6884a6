#include "kernels/inductor_cpp/recipe.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/kernels_fixture.h"

using namespace fuseproof;
using namespace fuseproof::test;

namespace {

const TorchFolders kTorch{.include = "/torch/include", .lib = "/torch/lib"};

// Refused with kUnsupported, naming the value.
template <typename Change>
void check_refused(const std::string& value, const Change& change) {
  BuildRecipe recipe = make_recipe();
  change(recipe);
  CAPTURE(value);
  try {
    compiler_arguments(recipe, kTorch, "RUN/kernel.json");
    FAIL("allowed");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUnsupported);
    CHECK(has(error.what(), "RUN/kernel.json"));
    CHECK(has(error.what(), "\"" + value + "\""));
  }
}

}  // namespace

TEST_CASE("what Inductor 2.13 passes to g++ and to clang is allowed, in its order") {
  // From CppBuilder(...).get_command_line() of torch 2.13.0 on an AVX-512 machine.
  const BuildRecipe recipe{
      .compiler = "g++",
      .compiler_version = "",
      .standard = "c++20",
      .flags = {"O3",
                "DNDEBUG",
                "fno-omit-frame-pointer",
                "g1",
                "fno-trapping-math",
                "funsafe-math-optimizations",
                "ffinite-math-only",
                "fno-signed-zeros",
                "fno-finite-math-only",
                "fno-unsafe-math-optimizations",
                "fmath-errno",
                "ffp-contract=off",
                "fexcess-precision=fast",
                "fno-tree-loop-vectorize",
                "march=native",
                "shared",
                "fPIC",
                "Wall",
                "Wno-unused-variable",
                "Wno-unknown-pragmas",
                "Wno-ignored-optimization-argument",
                "pedantic",
                "fopenmp",
                "mavx512f",
                "mavx512dq",
                "mavx512vl",
                "mavx512bw",
                "mfma",
                "mavx512vnni",
                "mavx512bf16",
                "mamx-tile",
                "mamx-bf16",
                "mamx-int8",
                "mamx-fp16",
                "mavx2",
                "mf16c"},
      .defines = {"TORCH_INDUCTOR_CPP_WRAPPER", "STANDALONE_TORCH_HEADER",
                  " C10_USING_CUSTOM_GENERATED_MACROS", "CPU_CAPABILITY_AVX512", "NAME=1.5"},
      .libraries = {"torch", "torch_cpu", "torch_python", "gomp"}};
  const CompilerArguments arguments = compiler_arguments(recipe, kTorch, "");
  std::vector<std::string> flags;
  for (const std::string& argument : arguments.compile) {
    const bool is_flag = !argument.starts_with("-I") && argument != "-w" &&
                         !argument.starts_with("-std") &&
                         (!argument.starts_with("-D") || argument == "-DNDEBUG");
    if (is_flag) flags.push_back(argument.substr(1));
  }
  CHECK(flags == recipe.flags);
  CHECK(std::count(arguments.compile.begin(), arguments.compile.end(), "-std=c++20") == 1);
  CHECK(std::count(arguments.compile.begin(), arguments.compile.end(),
                   "-DC10_USING_CUSTOM_GENERATED_MACROS") == 1);
  CHECK(std::count(arguments.compile.begin(), arguments.compile.end(), "-I/torch/include") == 1);
  CHECK(arguments.link ==
        std::vector<std::string>{"-ltorch", "-ltorch_cpu", "-lgomp", "-L/torch/lib"});
}

TEST_CASE("flags that name files, plug-ins, programs or nothing known are refused") {
  for (const char* flag : {"fplugin=x",
                           "fplugin=/tmp/x.so",
                           "wrapper",
                           "wrapper sh",
                           "include=/etc/passwd",
                           "include /etc/passwd",
                           "B/tmp",
                           "I/tmp",
                           "L/tmp",
                           "specs=/tmp/s",
                           "Wl,-rpath,/tmp",
                           "Wp,-MD,/tmp/x",
                           "Wa,-a=/tmp/x",
                           "Xlinker",
                           "o/tmp/x",
                           "x",
                           "E",
                           "save-temps",
                           "fdump-tree-all=/tmp/x",
                           "fprofile-use=/tmp",
                           "march=native -fplugin=x",
                           "march=/tmp",
                           "Wno-x,y",
                           "-O3",
                           "O3 ",
                           "",
                           "Ofast",
                           "ffast-math",
                           "@/tmp/response",
                           "mavx512f;rm",
                           "DNDEBUG\n-fplugin=x",
                           "fno-no-trapping-math",
                           "std=c++20"}) {
    check_refused(flag, [&](BuildRecipe& recipe) { recipe.flags.push_back(flag); });
  }
}

TEST_CASE("macros with shell metacharacters, spaces or parentheses are refused") {
  for (const char* define : {"A=$(id)", "A=`id`", "A=x;y", "A=\"x\"", "A=x y", "A(x)=x", "1A", "",
                             "A=/etc/passwd", "A=x\n#include", "-fplugin=x", "A=<x>", "A=x|y"}) {
    check_refused(define, [&](BuildRecipe& recipe) { recipe.defines.push_back(define); });
  }
}

TEST_CASE("libraries and standards outside the list are refused") {
  for (const char* library : {"crypt", "/tmp/x.so", ":x.so", "gomp -L/tmp", "", "torch_cuda"}) {
    check_refused(library, [&](BuildRecipe& recipe) { recipe.libraries.push_back(library); });
  }
  for (const char* standard : {"c++20 -fplugin=x", "c99", "c++", "c++2000"}) {
    check_refused(standard, [&](BuildRecipe& recipe) { recipe.standard = standard; });
  }
}

TEST_CASE("a compiler is a bare name of a known family") {
  for (const char* name : {"g++", "gcc", "c++", "clang++", "g++-12", "clang++-19", "clang++-3.9"}) {
    CHECK_NOTHROW(check_compiler_name(name, ""));
  }
  for (const char* name : {"/usr/bin/g++", "./g++", "sh", "", "g++ -x", "g++-", "g++-12/../sh",
                           "ccache g++", "icpx", "g++-12;sh"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(check_compiler_name(name, ""), Error);
  }
}
