#include "kernels/inductor_cpp/recipe.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

// clang-format off
constexpr std::string_view kFlags[] = {
    "O0", "O1", "O2", "O3", "Og", "Os", "DNDEBUG", "g", "g0", "g1", "g2", "g3",
    "gline-tables-only", "shared", "fPIC", "fopenmp", "Wall", "pedantic",
    "Werror=ignored-optimization-argument", "ffp-contract=off", "ffp-contract=on",
    "ffp-contract=fast", "fexcess-precision=fast", "fexcess-precision=standard",
    "fexcess-precision=16", "mprefer-vector-width=none", "mprefer-vector-width=128",
    "mprefer-vector-width=256", "mprefer-vector-width=512", "msve-vector-bits=128",
    "msve-vector-bits=256", "msve-vector-bits=512",
};

// Each also with "no-" behind the f.
constexpr std::string_view kSwitches[] = {
    "omit-frame-pointer", "trapping-math", "unsafe-math-optimizations", "finite-math-only",
    "signed-zeros", "math-errno", "associative-math", "reciprocal-math", "rounding-math",
    "strict-aliasing", "tree-vectorize", "tree-loop-vectorize", "tree-slp-vectorize",
};

// Instruction sets, with "m" or "mno-" in front; the families go on with letters, digits and dots.
constexpr std::string_view kInstructionSets[] = {
    "fma", "fma4", "f16c", "ssse3", "bmi", "bmi2", "lzcnt", "popcnt", "movbe",
};
constexpr std::string_view kInstructionSetFamilies[] = {"avx", "sse", "amx-"};

constexpr std::string_view kStandards[] = {
    "c++17", "c++2a", "c++20", "c++2b", "c++23", "gnu++17", "gnu++20", "gnu++23",
};

constexpr std::string_view kLibraries[] = {
    "gomp", "omp", "iomp5", "torch", "torch_cpu", "c10", "m", "stdc++",
};

constexpr std::string_view kCompilers[] = {"g++", "gcc", "c++", "clang++", "clang"};
// clang-format on

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

template <typename Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Whether every character is in one of the sets.
bool is_made_of(std::string_view text, std::initializer_list<std::string_view> sets) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return std::any_of(sets.begin(), sets.end(),
                       [&](std::string_view set) { return set.find(c) != std::string_view::npos; });
  });
}

// Takes `prefix` off the front of `text`, if it is there.
bool consume(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool is_switch(std::string_view flag) {
  if (!consume(flag, "f")) return false;
  consume(flag, "no-");
  return is_one_of(kSwitches, flag);
}

// "Wno-psabi": silences, and takes no value.
bool is_silencer(std::string_view flag) {
  return consume(flag, "Wno-") && !flag.empty() && is_made_of(flag, {kLower, kDigits, "+-"});
}

// "march=native": the value is a word, no path.
bool is_target(std::string_view flag) {
  if (!consume(flag, "march=") && !consume(flag, "mtune=") && !consume(flag, "mcpu=")) return false;
  return !flag.empty() && is_made_of(flag, {kLower, kDigits, "._+-"});
}

bool is_instruction_set(std::string_view flag) {
  if (!consume(flag, "m")) return false;
  consume(flag, "no-");
  if (is_one_of(kInstructionSets, flag)) return true;
  for (const std::string_view family : kInstructionSetFamilies) {
    if (consume(flag, family)) return is_made_of(flag, {kLower, kDigits, "."});
  }
  return false;
}

bool is_allowed_flag(std::string_view flag) {
  return is_one_of(kFlags, flag) || is_switch(flag) || is_silencer(flag) || is_target(flag) ||
         is_instruction_set(flag);
}

// NAME or NAME=VALUE, the value a number or a word.
bool is_allowed_define(std::string_view define) {
  const std::size_t equals = std::min(define.find('='), define.size());
  const std::string_view name = define.substr(0, equals);
  const std::string_view value = define.substr(std::min(equals + 1, define.size()));
  return !name.empty() && kDigits.find(name[0]) == std::string_view::npos &&
         is_made_of(name, {kLower, kUpper, kDigits, "_"}) &&
         is_made_of(value, {kLower, kUpper, kDigits, "_.+-"});
}

// "g++", "g++-12", "clang++-3.9".
bool is_allowed_compiler(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (!is_one_of(kCompilers, name.substr(0, dash))) return false;
  if (dash == std::string_view::npos) return true;
  const std::string_view version = name.substr(dash + 1);
  return !version.empty() && is_made_of(version, {kDigits, "."});
}

[[noreturn]] void refuse(const std::string& where, const char* field, const std::string& value) {
  throw Error(
      ErrorKind::kUnsupported,
      fmt::format("{}: field `artifact.recipe.{}`: \"{}\" is not among what a kernel is "
                  "rebuilt with. If the program really was built so, check it on the machine "
                  "where it ran: there its recorded object is used",
                  where, field, value));
}

// Inductor writes some of its macros with a space in front.
std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin);
}

void add_libraries(const BuildRecipe& recipe, const TorchFolders& torch, const std::string& where,
                   std::vector<std::string>& arguments) {
  for (const std::string& library : recipe.libraries) {
    // Bindings for Python are no part of what is rebuilt.
    if (library == "torch_python") continue;
    if (!is_one_of(kLibraries, library)) refuse(where, "libraries", library);
    arguments.push_back("-l" + library);
  }
  if (!torch.lib.empty()) arguments.push_back("-L" + torch.lib.string());
}

}  // namespace

void check_compiler_name(const std::string& compiler, const std::string& where) {
  if (!is_allowed_compiler(compiler)) refuse(where, "compiler", compiler);
}

CompilerArguments compiler_arguments(const BuildRecipe& recipe, const TorchFolders& torch,
                                     const std::string& where) {
  CompilerArguments result;
  for (const std::string& define : recipe.defines) {
    const std::string macro = trimmed(define);
    if (!is_allowed_define(macro)) refuse(where, "defines", define);
    result.compile.push_back("-D" + macro);
  }
  if (!recipe.standard.empty()) {
    if (!is_one_of(kStandards, recipe.standard)) refuse(where, "standard", recipe.standard);
    result.compile.push_back("-std=" + recipe.standard);
  }
  for (const std::string& flag : recipe.flags) {
    if (!is_allowed_flag(flag)) refuse(where, "flags", flag);
    result.compile.push_back("-" + flag);
  }
  // Torch's headers warn by the thousand with Inductor's -Wall -pedantic.
  result.compile.push_back("-w");
  result.compile.push_back("-I" + torch.include.string());
  result.compile.push_back("-I" + (torch.include / "torch/csrc/api/include").string());
  add_libraries(recipe, torch, where, result.link);
  return result;
}

}  // namespace fuseproof
