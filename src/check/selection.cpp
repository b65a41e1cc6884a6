#include "check/selection.h"

#include <fnmatch.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"
#include "bundle/origin.h"

namespace fuseproof {
namespace {

bool fits(const SiteAddress& address, const std::string& pattern) {
  if (pattern.find_first_of("*?[") == std::string::npos) {
    return address.site.find(pattern) != std::string::npos;
  }
  const std::string kernel = address.site.substr(address.site.find('_') + 1);
  return ::fnmatch(pattern.c_str(), address.site.c_str(), 0) == 0 ||
         ::fnmatch(pattern.c_str(), kernel.c_str(), 0) == 0;
}

}  // namespace

std::vector<SiteAddress> select_sites(const RunReader& run, const std::string& pattern) {
  if (pattern.empty()) return run.sites();
  std::vector<SiteAddress> sites;
  std::copy_if(run.sites().begin(), run.sites().end(), std::back_inserter(sites),
               [&](const SiteAddress& address) { return fits(address, pattern); });
  if (sites.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("no kernel of {} fits `{}`; it holds {} kernels",
                                               run.path().string(), pattern, run.sites().size()));
  }
  return sites;
}

std::string foreign_because(FileSystem& files, const RunReader& run) {
  if (run.is_local()) return "";
  if (const std::string problem = state_problem(files, state_folder()); !problem.empty()) {
    return fmt::format(
        "may come from anywhere: the state folder, which tells this user's runs from others, can "
        "be neither read nor written ({}). Set FUSEPROOF_STATE_DIR to a folder of your own",
        problem);
  }
  const JsonObject info(run.info(), (run.path() / "run.json").string());
  if (info.string_or("origin", "").empty()) {
    return "may come from anywhere: its capture could neither read nor write a state folder, "
           "which tells this user's runs from others";
  }
  return "was not made by this user on this machine";
}

void require_trust(FileSystem& files, const RunReader& run, Trust trust) {
  if (trust == Trust::kAny) return;
  const std::string reason = foreign_because(files, run);
  if (reason.empty()) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("{} {}. It holds native code that a check would run; say --trust (in "
                          "Python: trust=True) if you know where it comes from.",
                          run.path().string(), reason));
}

int fitting_jobs(FileSystem& files, const RunReader& run, const std::vector<SiteAddress>& sites) {
  int most_threads = 1;
  for (const SiteAddress& site : sites) {
    const Path path = run.path() / site.process / "sites" / site.site / "kernel.json";
    try {
      const Json json = parse_json(files.read_text(path), path.string());
      const KernelSpec spec = kernel_spec_from_json(JsonObject(json, path.string()));
      most_threads = std::max(most_threads, spec.threads);
    } catch (const Error&) {
      // Its own check says so.
    }
  }
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, processors / most_threads);
}

std::vector<CaptureProblem> capture_problems(FileSystem& files, const RunReader& run) {
  std::vector<Path> paths = {run.path() / "run.json"};
  for (const std::string& process : files.list(run.path())) {
    Path path = run.path() / process / "process.json";
    if (files.exists(path)) paths.push_back(std::move(path));
  }
  std::vector<CaptureProblem> problems;
  for (const Path& path : paths) {
    const Json json = parse_json(files.read_text(path), path.string());
    const JsonObject info(json, path.string());
    if (!info.has("problems")) continue;
    for (const JsonObject& problem : info.objects("problems")) {
      problems.push_back({problem.string("text"), path});
    }
  }
  return problems;
}

}  // namespace fuseproof
