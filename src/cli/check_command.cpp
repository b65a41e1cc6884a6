#include <unistd.h>

#include <chrono>
#include <cstdio>

#include <fmt/format.h>

#include "base/error.h"
#include "check/baseline.h"
#include "check/selection.h"
#include "cli/command.h"
#include "cli/signals.h"
#include "report/check_report.h"
#include "report/plain_text.h"
#include "workbench/installation.h"

namespace fuseproof {
namespace {

void show_progress(std::size_t done, std::size_t total, const SiteResult& latest) {
  if (::isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r\033[K{}/{} {}", done, total, plain_text(latest.kernel));
  if (done == total) fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

// Of a traceback, the error that it ends in.
std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  text.erase(0, text.rfind('\n') + 1);
  return text;
}

// The capture's own report is long gone by the time of a check.
void warn_of(const std::vector<CaptureProblem>& problems) {
  if (problems.empty()) return;
  fmt::print(stderr,
             "fuseproof: {} thing{} went wrong during the capture, and what {} may be missing. The "
             "first: {}\nfuseproof: all are under `problems` in {}\n",
             problems.size(), problems.size() == 1 ? "" : "s",
             problems.size() == 1 ? "it concerns" : "they concern",
             plain_text(last_line(problems.front().text)), problems.front().file.string());
}

CheckPlan plan_of(const CheckArguments& arguments) {
  CheckPlan plan;
  plan.settings.criteria = arguments.criteria == "cann" ? Criteria::kCann : Criteria::kDefault;
  plan.jobs = arguments.jobs;
  plan.progress = show_progress;
  plan.is_cancelled = [] { return received_signal() != 0; };
  return plan;
}

// What the capture left in run.json about itself, and what went wrong in it.
Json capture_of(const RunReader& run, const std::vector<CaptureProblem>& problems) {
  const JsonObject info(run.info(), (run.path() / "run.json").string());
  Json capture = info.has("capture") ? info.object("capture").value() : Json::object();
  capture["problems"] = Json::array();
  for (const CaptureProblem& problem : problems) {
    capture["problems"].push_back(last_line(problem.text));
  }
  return capture;
}

}  // namespace

void add_import_option(CLI::App& command, std::vector<std::string>& imports) {
  command
      .add_option("--import", imports,
                  "run this module's code: the operators it registers, for the reference")
      ->type_name("MODULE")
      ->allow_extra_args(false);
}

void add_check_options(CLI::App& command, CheckArguments& arguments) {
  command.add_option("--criteria", arguments.criteria, "default, or cann (coarse, as msaccucmp)")
      ->check(CLI::IsMember({"default", "cann"}))
      ->capture_default_str();
  command
      .add_option("--kernel", arguments.kernel_pattern,
                  "only kernels whose site fits: part of the name, or a glob")
      ->type_name("PATTERN");
  command
      .add_option("--jobs", arguments.jobs,
                  "how many kernels to check at once, at most all of them; 0, the default: the\n"
                  "processors divided by the largest number of threads that a kernel was generated "
                  "for")
      ->check(CLI::Range(0, 256));
  command
      .add_option("--baseline", arguments.baseline,
                  "what an earlier `check --json` printed: only findings that are not in it fail")
      ->type_name("FILE");
  command.add_flag("--trust", arguments.is_trusted, "run native code that was made elsewhere");
  add_import_option(command, arguments.imports);
  command.add_flag("--json", arguments.as_json, "one JSON document on stdout");
}

std::optional<Baseline> baseline_of(const CheckArguments& arguments) {
  if (arguments.baseline.empty()) return std::nullopt;
  return Baseline::read(real_file_system(), arguments.baseline);
}

int check_and_report(const Path& path, const CheckArguments& arguments) {
  FileSystem& files = real_file_system();
  const RunReader run(files, path);
  const std::vector<CaptureProblem> problems = capture_problems(files, run);
  CheckSummary summary;
  summary.capture = capture_of(run, problems);
  require_trust(files, run, arguments.trust());
  warn_of(problems);
  const std::vector<SiteAddress> sites = select_sites(run, arguments.kernel_pattern);
  const std::optional<Baseline> baseline = baseline_of(arguments);
  const Installation installation = find_installation(files, running_program());
  const auto start = std::chrono::steady_clock::now();
  CheckPlan plan = plan_of(arguments);
  if (plan.jobs == 0) plan.jobs = fitting_jobs(files, run, sites);
  watch_for_signals();
  std::vector<SiteResult> results = check_sites(
      run, sites, workbench_factory(files, installation, run, arguments.imports, plan.is_cancelled),
      plan);
  if (baseline) summary.unmet_findings = baseline->mark_known(results);
  summary.run = path.string();
  summary.criteria = arguments.criteria;
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  write_stdout(arguments.as_json ? json_text(check_report_json(results, summary), 1) + "\n"
                                 : check_report_text(results, summary));
  if (const int signal = received_signal(); signal != 0) {
    fmt::print(stderr, "fuseproof: interrupted after {} of {} kernels\n", results.size(),
               sites.size());
    return signal_status(signal);
  }
  if (sites.empty() && problems.empty()) {
    fmt::print(stderr, "fuseproof: {} holds no kernel. {}\n", path.string(),
               "Did the script call a compiled function after capture began?");
  }
  const int status = exit_status(results);
  const int at_fault = error_kind_info(ErrorKind::kInternal).exit_status;
  return status == 0 && !problems.empty() ? at_fault : status;
}

Command add_check_command(CLI::App& parser) {
  CLI::App* command =
      parser.add_subcommand("check", "Run every captured kernel against its fragment");
  auto run = std::make_shared<std::string>();
  auto arguments = std::make_shared<CheckArguments>();
  command->add_option("RUN", *run, "a run, as `fuseproof run` or fuseproof.capture wrote it")
      ->required();
  add_check_options(*command, *arguments);
  command->footer(
      "Exit status: 0 nothing found, 1 a finding, 2 wrong usage or unreadable input,\n"
      "3 nothing could be checked or Fuseproof is at fault, 128 + N ended by signal N (Ctrl-C: "
      "130).\n\n"
      "Examples:\n"
      "  fuseproof check RUN\n"
      "  fuseproof check RUN --kernel 'cpp_fused_*relu*' --jobs 2\n"
      "  fuseproof check RUN --criteria cann --json > results.json\n"
      "  fuseproof check RUN2 --baseline results.json");
  return {command, [run, arguments] { return check_and_report(*run, *arguments); }};
}

}  // namespace fuseproof
