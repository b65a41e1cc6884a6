#include <unistd.h>

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/version.h"
#include "cli/command.h"
#include "workbench/installation.h"

namespace fuseproof {
namespace {

struct Fact {
  std::string name;
  std::string value;   // empty: missing
  std::string advice;  // what to do when it is missing
};

std::vector<Fact> facts(FileSystem& files) {
  const Installation installation = find_installation(files, running_program());
  const std::string torch = torch_version(files, installation.torch);
  const char* reinstall = "reinstall Fuseproof, or run `make setup` in its source tree";
  return {
      {"fuseproof", std::string(version()), ""},
      {"program", running_program().string(), ""},
      {"runner", installation.runner.string(), reinstall},
      {"reference", installation.reference.string(), reinstall},
      {"python", installation.python.string(), "set FUSEPROOF_PYTHON"},
      {"torch", torch.empty() ? "" : fmt::format("{} ({})", torch, installation.torch.string()),
       "pip install torch==2.13.0, or set FUSEPROOF_TORCH_DIR to torch's package folder"},
      {"cpu", cpu_description(files), ""},
      {"processors", std::to_string(std::thread::hardware_concurrency()), ""},
  };
}

int show_environment(bool as_json) {
  const std::vector<Fact> all = facts(real_file_system());
  Json json = {{"version", "1.0"}, {"environment", Json::object()}, {"results", Json::array()}};
  std::string text;
  for (const Fact& fact : all) {
    json["environment"][fact.name] = fact.value.empty() ? Json() : Json(fact.value);
    text += fmt::format("{:<11} {}\n", fact.name,
                        fact.value.empty() ? "MISSING: " + fact.advice : fact.value);
  }
  write_stdout(as_json ? json_text(json, 1) + "\n" : text);
  const bool is_complete =
      std::none_of(all.begin(), all.end(), [](const Fact& fact) { return fact.value.empty(); });
  return is_complete ? 0 : error_kind_info(ErrorKind::kUnsupported).exit_status;
}

}  // namespace

Command add_env_command(CLI::App& parser) {
  CLI::App* command =
      parser.add_subcommand("env", "Versions and places of what a check needs; what is missing");
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "one JSON document on stdout");
  command->footer("Example:\n  fuseproof env");
  return {command, [as_json] { return show_environment(*as_json); }};
}

}  // namespace fuseproof
