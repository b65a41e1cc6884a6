// What the commands of the command line have in common. One file a command; main.cpp only
// dispatches.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/files.h"
#include "check/baseline.h"
#include "check/selection.h"

namespace fuseproof {

// Each adds a subcommand to the parser and returns what to run when it was chosen. The returned
// function gives the exit status.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};
Command add_check_command(CLI::App& parser);
Command add_env_command(CLI::App& parser);
// `marked`: what follows the first `--` of the command line, and that word itself; or nothing.
Command add_run_command(CLI::App& parser, const std::vector<std::string>& marked);
Command add_scripts_command(CLI::App& parser);
Command add_show_command(CLI::App& parser);

// Options of every command that checks.
struct CheckArguments {
  std::string criteria = "default";
  std::string kernel_pattern;
  std::string baseline;  // path; "": none
  int jobs = 0;          // 0: fitting_jobs
  bool is_trusted = false;
  std::vector<std::string> imports;
  bool as_json = false;

  Trust trust() const { return is_trusted ? Trust::kAny : Trust::kLocalOnly; }
};
void add_check_options(CLI::App& command, CheckArguments& arguments);
// Of commands that run the reference.
void add_import_option(CLI::App& command, std::vector<std::string>& imports);

// What `--baseline` names, if it names anything. Throws kIo or kBadInput.
std::optional<Baseline> baseline_of(const CheckArguments& arguments);

// Checks a run, writes the report to stdout and returns the exit status.
int check_and_report(const Path& run, const CheckArguments& arguments);

// Writes to stdout; a closed pipe ends the program quietly. Throws kIo for what cannot be written.
void write_stdout(const std::string& text);

}  // namespace fuseproof
