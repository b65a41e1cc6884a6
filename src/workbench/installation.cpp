#include "workbench/installation.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/search_path.h"
#include "kernels/inductor_cpp/inductor_cpp_runner.h"
#include "reference/client/reference_client.h"

namespace fuseproof {
namespace {

constexpr const char* kHowToInstall =
    "Reinstall Fuseproof, or run `make setup` in its source tree.";

void require_reference(const Installation& installation) {
  if (!installation.reference.empty()) return;
  throw Error(
      ErrorKind::kUnsupported,
      fmt::format("fuseproof-reference was not found: this build has no torch. {}", kHowToInstall));
}

// Empty when the variable is not set: who sets it means it.
Path from_environment(FileSystem& files, const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return {};
  if (!files.exists(value)) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("{} names {}, which does not exist. Correct it, or unset it.", name, value));
  }
  return value;
}

// <prefix>/lib/python3.x/{site,dist}-packages/fuseproof for a program in <prefix>/bin.
Path package_folder(FileSystem& files, const Path& program) {
  const Path lib = program.parent_path().parent_path() / "lib";
  if (!files.exists(lib)) return {};
  for (const std::string& entry : files.list(lib)) {
    if (!entry.starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      Path folder = lib / entry / packages / "fuseproof";
      if (files.exists(folder / "bin")) return folder;
    }
  }
  return {};
}

Path first_existing(FileSystem& files, std::initializer_list<Path> candidates) {
  for (const Path& candidate : candidates) {
    if (!candidate.empty() && files.exists(candidate)) return candidate;
  }
  return {};
}

}  // namespace

Path running_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

std::string torch_version(FileSystem& files, const Path& torch) {
  if (torch.empty() || !files.exists(torch / "version.py")) return "";
  const std::string text = files.read_text(torch / "version.py");
  const std::string key = "__version__ = '";
  const std::size_t begin = text.find(key);
  if (begin == std::string::npos) return "";
  const std::size_t end = text.find('\'', begin + key.size());
  return text.substr(begin + key.size(), end - begin - key.size());
}

Installation find_installation(FileSystem& files, const Path& program) {
  const Path here = program.parent_path();
  const Path package = package_folder(files, program);
  const Path bin = package.empty() ? Path() : package / "bin";
  Installation installation;
  installation.runner =
      first_existing(files, {from_environment(files, "FUSEPROOF_RUNNER"), here / "fuseproof-runner",
                             bin / "fuseproof-runner"});
  installation.reference =
      first_existing(files, {from_environment(files, "FUSEPROOF_REFERENCE"),
                             here / "fuseproof-reference", bin / "fuseproof-reference"});
  installation.torch =
      first_existing(files, {from_environment(files, "FUSEPROOF_TORCH_DIR"),
                             package.empty() ? Path() : package.parent_path() / "torch",
                             FUSEPROOF_BUILD_TORCH_DIR});
  installation.python =
      first_existing(files, {from_environment(files, "FUSEPROOF_PYTHON"), here / "python",
                             find_program("python3").value_or(Path())});
  return installation;
}

std::unique_ptr<ReferenceRunner> make_reference(const Installation& installation,
                                                const std::vector<std::string>& imports,
                                                const IsCancelled& is_cancelled) {
  require_reference(installation);
  return std::make_unique<ReferenceClient>(ReferenceClientOptions{.worker = installation.reference,
                                                                  .python = installation.python,
                                                                  .imports = imports,
                                                                  .is_cancelled = is_cancelled});
}

WorkbenchFactory workbench_factory(FileSystem& files, const Installation& installation,
                                   const RunReader& run, const std::vector<std::string>& imports,
                                   const IsCancelled& is_cancelled) {
  if (installation.runner.empty()) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("fuseproof-runner was not found. {}", kHowToInstall));
  }
  require_reference(installation);
  if (installation.torch.empty()) {
    throw Error(ErrorKind::kUnsupported,
                "torch was not found. Install it (pip install torch==2.13.0), or set "
                "FUSEPROOF_TORCH_DIR to its package folder.");
  }
  InductorCppOptions kernels;
  kernels.runner = installation.runner;
  kernels.builder.torch = {.include = installation.torch / "include",
                           .lib = installation.torch / "lib"};
  kernels.builder.torch_version = torch_version(files, installation.torch);
  kernels.builder.cpu = cpu_description(files);
  kernels.builder.warn = [](const std::string& text) {
    fmt::print(stderr, "fuseproof: {}\n", text);
  };
  kernels.builder.is_cancelled = is_cancelled;
  kernels.recorded_cpu =
      JsonObject(run.info(), (run.path() / "run.json").string()).string_or("cpu", "");
  return [&files, kernels, installation, imports, is_cancelled] {
    return Workbench{std::make_unique<InductorCppRunner>(files, kernels),
                     make_reference(installation, imports, is_cancelled)};
  };
}

}  // namespace fuseproof
