#include <atomic>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/cpu.h"
#include "base/json.h"
#include "bindings.h"
#include "check/baseline.h"
#include "check/selection.h"
#include "workbench/installation.h"

namespace fuseproof::python {
namespace {

namespace nb = nanobind;

// Whether the program was interrupted; asked between two kernels, by any thread. Only the main
// thread ever learns of a signal, so that what it saw is kept for the others.
class Interruption {
 public:
  bool is_there() {
    if (is_seen_) return true;
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) is_seen_ = true;
    return is_seen_;
  }

 private:
  std::atomic<bool> is_seen_ = false;
};

Json checked(const std::string& path, const JsonObject& options, const std::string& program) {
  FileSystem& files = real_file_system();
  const RunReader run(files, path);
  require_trust(files, run, options.boolean("trust") ? Trust::kAny : Trust::kLocalOnly);
  CheckPlan plan;
  plan.settings.criteria =
      options.string("criteria") == "cann" ? Criteria::kCann : Criteria::kDefault;
  const std::vector<SiteAddress> sites = select_sites(run, options.string("kernel"));
  plan.jobs = static_cast<int>(options.integer("jobs"));
  if (plan.jobs == 0) plan.jobs = fitting_jobs(files, run, sites);
  Interruption interruption;
  plan.is_cancelled = [&interruption] { return interruption.is_there(); };
  Installation installation = find_installation(files, program);
  installation.python = options.string("python");
  std::optional<Baseline> baseline;
  if (options.has("baseline")) baseline = Baseline::read(files, options.string("baseline"));
  std::vector<SiteResult> results = check_sites(
      run, sites,
      workbench_factory(files, installation, run, options.strings("imports"), plan.is_cancelled),
      plan);
  if (baseline) baseline->mark_known(results);
  Json list = Json::array();
  for (const SiteResult& result : results) list.push_back(to_json(result));
  return list;
}

std::string check_run(const std::string& path, const std::string& options,
                      const std::string& program) {
  std::string results;
  {
    const nb::gil_scoped_release no_gil;
    const Json parsed = parse_json(options, "options");
    results = json_text(checked(path, JsonObject(parsed, "options"), program), -1);
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return results;
}

std::vector<std::string> finding_verdicts() {
  std::vector<std::string> names;
  for (const VerdictInfo& info : all_verdicts()) {
    if (info.verdict_class == VerdictClass::kFinding) names.emplace_back(info.name);
  }
  return names;
}

}  // namespace

void bind_check(nb::module_& module) {
  module.def("finding_verdicts", &finding_verdicts, "Names of the verdicts that are findings.");
  module.def(
      "cpu_description", [] { return cpu_description(real_file_system()); },
      "This machine's processor; equal on machines that can run each other's kernels.");
  module.def("check_run", &check_run, nb::arg("run"), nb::arg("options"), nb::arg("program"),
             "Checks the kernels of a run. `options`: JSON with criteria, jobs, kernel, trust, "
             "imports, python (the interpreter for what only Python can run) and, where there is "
             "one, baseline (a path). "
             "`program`: a path in the folder of fuseproof-runner. Returns the results as JSON, in "
             "the form of `fuseproof check --json`.");
}

}  // namespace fuseproof::python
