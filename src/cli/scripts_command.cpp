#include <fmt/format.h>

#include "base/error.h"
#include "check/selection.h"
#include "cli/command.h"
#include "report/plain_text.h"
#include "report/scripts_report.h"

namespace fuseproof {
namespace {

struct ScriptsArguments {
  std::string run;
  std::string kernel_pattern;
  bool as_json = false;
};

// A script without an eager function keeps the kernel on record; what could not be written at all
// is an error.
void warn(const std::vector<ScriptResult>& results) {
  for (const ScriptResult& result : results) {
    if (result.error) {
      fmt::print(stderr, "fuseproof: {}: no script: {}\n", plain_text(result.site.site),
                 plain_text(result.message));
    } else if (!result.has_precision) {
      fmt::print(stderr, "fuseproof: {}: without --check: {}\n", plain_text(result.site.site),
                 plain_text(result.reason));
    }
  }
}

int write(const ScriptsArguments& arguments) {
  FileSystem& files = real_file_system();
  const RunReader run(files, arguments.run);
  const std::vector<ScriptResult> results =
      write_scripts(files, run, select_sites(run, arguments.kernel_pattern));
  warn(results);
  write_stdout(arguments.as_json ? json_text(scripts_report_json(results), 1) + "\n"
                                 : scripts_report_text(results));
  return exit_status(results);
}

}  // namespace

Command add_scripts_command(CLI::App& parser) {
  CLI::App* command =
      parser.add_subcommand("scripts", "Write a benchmark.py for each kernel, to run by itself");
  auto arguments = std::make_shared<ScriptsArguments>();
  command
      ->add_option("RUN", arguments->run, "a run, as `fuseproof run` or fuseproof.capture wrote it")
      ->required();
  command
      ->add_option("--kernel", arguments->kernel_pattern,
                   "only kernels whose site fits: part of the name, or a glob")
      ->type_name("PATTERN");
  command->add_flag("--json", arguments->as_json, "one JSON document on stdout");
  command->footer(
      "A script lies in the kernel's folder, RUN/PROCESS/sites/SITE/benchmark.py, and needs torch\n"
      "and Fuseproof, but not the program. An older one is replaced. `benchmark.py --help` says\n"
      "what it can do.\n\n"
      "Exit status: 0 all written, 2 some could not be read or written, 3 some are not "
      "supported.\n\n"
      "Examples:\n"
      "  fuseproof scripts RUN\n"
      "  fuseproof scripts RUN --kernel relu --json");
  return {command, [arguments] { return write(*arguments); }};
}

}  // namespace fuseproof
