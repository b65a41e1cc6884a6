#include "kernels/inductor_cpp/builder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/search_path.h"
#include "kernels/inductor_cpp/compiler.h"
#include "tensor/hash.h"

namespace fuseproof {
namespace {

constexpr std::string_view kHeader = "torch/csrc/inductor/cpp_prefix.h";
constexpr int kBuildsBeforePrecompiling = 3;
constexpr std::chrono::seconds kVersionLimit{30};

Path cache_folder(const BuilderOptions& options) {
  return options.cache_folder.empty() ? default_cache_folder() : options.cache_folder;
}

// Fields of a key, none of which can run into the next.
std::string joined(const std::vector<std::string>& fields) {
  std::string result;
  for (const std::string& field : fields) result += fmt::format("{}:{}\n", field.size(), field);
  return result;
}

// A precompiled header must be the first thing that the compiler sees.
bool begins_with_header(std::string_view source) {
  const std::size_t begin = source.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return false;
  return source.substr(begin).starts_with(fmt::format("#include <{}>", kHeader));
}

bool is_gcc(const std::string& version) { return version.find("clang") == std::string::npos; }

void fail_if_disk_full(const CompilerRun& run, const Path& target) {
  if (run.output.find("No space left on device") == std::string::npos) return;
  throw Error(ErrorKind::kIo, fmt::format("no space is left for building {}", target.string()));
}

std::string failure_text(const CompilerRun& run) {
  if (run.timed_out) return "the compiler did not finish in time";
  const std::string line = first_error(run.output);
  return line.empty() ? "the compiler " + to_string(run.status) + " without a message" : line;
}

template <typename... Parts>
std::vector<std::string> concatenated(std::vector<std::string> first, const Parts&... parts) {
  (first.insert(first.end(), parts.begin(), parts.end()), ...);
  return first;
}

}  // namespace

InductorCppBuilder::InductorCppBuilder(FileSystem& files, BuilderOptions options)
    : files_(files),
      options_(std::move(options)),
      cache_(files, fuseproof::cache_folder(options_), options_.warn) {}

BuildResult InductorCppBuilder::build(const Path& source, const BuildRecipe& recipe,
                                      const std::string& where) {
  check_compiler_name(recipe.compiler, where);
  const CompilerArguments arguments = compiler_arguments(recipe, options_.torch, where);
  const Compiler& compiler = find_compiler(recipe.compiler, where);
  const std::string text = files_.read_text(source);
  const std::string base = key_base(compiler, arguments);

  BuildResult result;
  const auto compile = [&](const Path& target) {
    const std::vector<std::string> plain = concatenated(
        {std::filesystem::absolute(source).string()}, arguments.compile,
        std::vector<std::string>{"-shared", "-fPIC", "-o", target.string()}, arguments.link);
    const std::vector<std::string> header = header_arguments(compiler, arguments, text);
    const CompilerRun run = run_compiler(compiler.program, concatenated(header, plain),
                                         options_.compile_limit, options_.is_cancelled);
    ++builds_[base];
    if (run.status.succeeded() && !run.timed_out) return true;
    fail_if_disk_full(run, target);
    result.error = failure_text(run);
    result.command = command_line(compiler.program, plain);
    return false;
  };
  const auto entry = cache_.get(xxh128_hex(joined({base, text})), ".so", compile);
  if (!entry) return result;
  return {.succeeded = true,
          .object = entry->object,
          .was_cached = !entry->was_built,
          .error = "",
          .command = ""};
}

const InductorCppBuilder::Compiler& InductorCppBuilder::find_compiler(const std::string& name,
                                                                      const std::string& where) {
  const auto known = compilers_.find(name);
  if (known != compilers_.end()) return known->second;
  const std::optional<Path> program = find_program(name);
  if (!program) {
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("{}: the kernel has to be rebuilt with {}, which is not in PATH. Install "
                    "it, or check the run on the machine where it was recorded",
                    where, name));
  }
  const CompilerRun run = run_compiler(*program, {"--version"}, kVersionLimit);
  if (!run.status.succeeded()) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{} --version {}", program->string(), to_string(run.status)));
  }
  return compilers_[name] = {*program, run.output.substr(0, run.output.find('\n'))};
}

const std::string& InductorCppBuilder::header_hash() {
  if (!header_hash_.empty()) return header_hash_;
  const Path header = options_.torch.include / kHeader;
  if (!files_.exists(header)) {
    throw Error(ErrorKind::kBadInput,
                fmt::format("{} does not exist: a kernel cannot be rebuilt without torch's headers",
                            header.string()));
  }
  return header_hash_ = xxh128_hex(files_.map(header)->bytes());
}

std::string InductorCppBuilder::key_base(const Compiler& compiler,
                                         const CompilerArguments& arguments) {
  return joined({compiler.program.string(), compiler.version, options_.torch_version, header_hash(),
                 options_.cpu, joined(arguments.compile), joined(arguments.link)});
}

std::vector<std::string> InductorCppBuilder::header_arguments(const Compiler& compiler,
                                                              const CompilerArguments& arguments,
                                                              std::string_view source) {
  if (!is_gcc(compiler.version) || !begins_with_header(source)) return {};
  const std::string base = key_base(compiler, arguments);
  const std::string key = xxh128_hex(joined({base, "precompiled header"}));
  constexpr std::string_view kSuffix = ".h.gch";
  std::optional<Path> header = cache_.find(key, kSuffix);
  if (!header && builds_[base] >= kBuildsBeforePrecompiling) {
    const auto entry = cache_.get(
        key, kSuffix, [&](const Path& target) { return precompile(compiler, arguments, target); });
    if (entry) header = entry->object;
  }
  if (!header) return {};
  // GCC takes NAME.gch for NAME where the two were compiled alike, and else reads NAME itself.
  const Path name = header->parent_path() / header->stem();
  if (!files_.exists(name)) {
    files_.write_text_atomically(name, fmt::format("#include <{}>\n", kHeader));
  }
  return {"-include", name.string()};
}

bool InductorCppBuilder::precompile(const Compiler& compiler, const CompilerArguments& arguments,
                                    const Path& target) {
  const std::vector<std::string> all =
      concatenated({"-x", "c++-header", (options_.torch.include / kHeader).string()},
                   arguments.compile, std::vector<std::string>{"-fPIC", "-o", target.string()});
  const CompilerRun run =
      run_compiler(compiler.program, all, options_.compile_limit, options_.is_cancelled);
  fail_if_disk_full(run, target);
  return run.status.succeeded() && !run.timed_out;
}

}  // namespace fuseproof
