#include <cstring>

#include <fmt/format.h>

#include "base/error.h"
#include "base/process.h"
#include "cli/command.h"
#include "cli/signals.h"
#include "workbench/installation.h"

namespace fuseproof {
namespace {

struct RunArguments {
  std::string output;
  std::string inputs = "real";
  std::uint64_t byte_budget = 0;
  int calls = 1;
  bool is_unchecked = false;
  CheckArguments check;
};

// "fuseproof-train-001": the first number that is free in the working folder.
std::string free_run_name(FileSystem& files, const std::vector<std::string>& script) {
  const std::string stem = script.front() == "-m" && script.size() > 1
                               ? script[1]
                               : Path(script.front()).stem().string();
  for (int number = 1; number < 1000; ++number) {
    std::string name = fmt::format("fuseproof-{}-{:03}", stem, number);
    if (!files.exists(name)) return name;
  }
  throw Error(ErrorKind::kUsage,
              "this folder holds 999 runs of the script already; give a name with --output");
}

std::vector<std::string> capture_arguments(const RunArguments& arguments, const std::string& output,
                                           const std::vector<std::string>& script) {
  std::vector<std::string> words = {
      "-m",       "fuseproof.run_script", "--out",   output,
      "--inputs", arguments.inputs,       "--calls", std::to_string(arguments.calls)};
  if (arguments.byte_budget > 0) {
    words.insert(words.end(), {"--byte-budget", std::to_string(arguments.byte_budget)});
  }
  words.emplace_back("--");
  words.insert(words.end(), script.begin(), script.end());
  return words;
}

// Before the number is read: "-1" would be read as a very large one.
std::string refuse_sign(const std::string& text) {
  return text.find('-') == std::string::npos ? "" : text + " is no positive number of bytes";
}

// Runs the script under capture. What ends it early leaves what it captured until then.
SignalRelay::End capture(const RunArguments& arguments, const std::string& output,
                         const std::vector<std::string>& script) {
  FileSystem& files = real_file_system();
  if (script.front() != "-m" && !files.exists(script.front())) {
    throw Error(ErrorKind::kBadInput, fmt::format("the script {} does not exist", script.front()));
  }
  const Installation installation = find_installation(files, running_program());
  if (installation.python.empty()) {
    throw Error(ErrorKind::kUnsupported,
                "no Python was found to run the script with. Put python3 into PATH, or set "
                "FUSEPROOF_PYTHON to the interpreter that Fuseproof is installed in.");
  }
  SpawnRequest request;
  request.program = installation.python;
  request.arguments = capture_arguments(arguments, output, script);
  // Our stdout carries one document; what the script prints goes to stderr.
  request.child_stdout = arguments.check.as_json ? ChildStdout::kToStderr : ChildStdout::kInherit;
  SignalRelay relay;
  ChildProcess child = ChildProcess::spawn(request);
  return relay.wait_for(child);
}

// The capture never began, so the script did not run either. fuseproof.run_script then ends with
// the status of the error that it has printed; anything else is Python's own.
int unstarted_status(ExitStatus status) {
  const int usage = error_kind_info(ErrorKind::kUsage).exit_status;
  const int unsupported = error_kind_info(ErrorKind::kUnsupported).exit_status;
  const bool is_ours = status.signal == 0 && (status.code == usage || status.code == unsupported);
  if (is_ours) return status.code;
  fmt::print(stderr, "fuseproof: Python {} before the capture began\n", to_string(status));
  return usage;
}

// Nobody who ends the script asks for a check of what it left.
int ended_early(int signal, const std::string& run) {
  fmt::print(stderr, "fuseproof: ended by signal {} ({})\n", signal, ::strsignal(signal));
  if (!run.empty()) {
    fmt::print(stderr, "fuseproof: {0} holds what was captured until then: fuseproof check {0}\n",
               run);
  }
  return signal_status(signal);
}

int run_script(const RunArguments& arguments, const std::vector<std::string>& script) {
  FileSystem& files = real_file_system();
  const std::string output =
      arguments.output.empty() ? free_run_name(files, script) : arguments.output;
  if (files.exists(output)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} exists already, and a run is never overwritten. Give another name "
                            "or remove it.",
                            output));
  }
  // A file that cannot be read is better known before the script has run for hours.
  static_cast<void>(baseline_of(arguments.check));
  const auto [status, signal] = capture(arguments, output, script);
  const bool has_run = files.exists(Path(output) / "run.json");
  if (signal != 0) return ended_early(signal, has_run ? output : "");
  if (!has_run) return unstarted_status(status);
  if (!status.succeeded()) {
    fmt::print(stderr, "fuseproof: the script {}\n", to_string(status));
    fmt::print(stderr, "fuseproof: {} holds what was captured until then\n", output);
  }
  constexpr int kScriptFailed = 2;
  if (arguments.is_unchecked) return status.succeeded() ? 0 : kScriptFailed;
  const int check_status = check_and_report(output, arguments.check);
  return status.succeeded() || received_signal() != 0 ? check_status : kScriptFailed;
}

}  // namespace

Command add_run_command(CLI::App& parser, const std::vector<std::string>& marked) {
  CLI::App* command =
      parser.add_subcommand("run", "Run a script, capture its fused kernels, then check them");
  auto arguments = std::make_shared<RunArguments>();
  command
      ->add_option("-o,--output", arguments->output,
                   "folder of the new run (default: fuseproof-SCRIPT-NNN)")
      ->type_name("RUN");
  command->add_option("--calls", arguments->calls, "how many calls of each kernel to record")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--inputs", arguments->inputs, "real, or layout: shapes without values")
      ->check(CLI::IsMember({"real", "layout"}))
      ->capture_default_str();
  command
      ->add_option("--byte-budget", arguments->byte_budget,
                   "stop recording input values beyond this many bytes (suffixes: kb, mb, gb)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62))
      ->transform(CLI::Validator(refuse_sign, "", "no sign"));
  command->add_flag("--no-check", arguments->is_unchecked, "capture only");
  add_check_options(*command, arguments->check);
  command->prefix_command();
  command->footer(
      "Everything from the script on is the script's own: SCRIPT.py ARGS… or -m MODULE ARGS…\n"
      "A `--` before it ends the options of fuseproof, for a script that begins with a dash.\n\n"
      "Exit status: that of the check (see `fuseproof check --help`); 2 when the script failed;\n"
      "128 + N when signal N ended it early. There is no check then.\n\n"
      "Examples:\n"
      "  fuseproof run train.py --steps 3\n"
      "  fuseproof run -o RUN --no-check -m package.module --config small");
  return {command, [command, arguments, marked] {
            std::vector<std::string> script = command->remaining();
            // Behind a script, `--` is one of its own words.
            const std::size_t skipped = script.empty() && !marked.empty() ? 1 : 0;
            script.insert(script.end(), marked.begin() + skipped, marked.end());
            if (script.empty()) {
              throw Error(ErrorKind::kUsage,
                          "run needs a script: fuseproof run SCRIPT.py ARGS…, or -m MODULE");
            }
            return run_script(*arguments, script);
          }};
}

}  // namespace fuseproof
