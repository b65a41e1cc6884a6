#include "scripts/write_scripts.h"

#include "scripts/benchmark_script.h"
#include "scripts/spec_builder.h"

namespace fuseproof {
namespace {

constexpr const char* kScript = "benchmark.py";

// `folder` empty: the site's own.
ScriptResult write_one(FileSystem& files, const RunReader& run, const SiteAddress& address,
                       const Path& folder) {
  ScriptResult result{.site = address, .script = {}, .reason = {}, .message = {}};
  try {
    const SiteBundle site = run.read_site(address);
    BenchmarkSpec spec = build_benchmark_spec(files, run, site);
    if (!folder.empty()) {
      files.create_folders(folder);
      spec.bundle = std::filesystem::relative(site.folder, folder).string();
    }
    const Path script = (folder.empty() ? site.folder : folder) / kScript;
    files.write_text_atomically(script, benchmark_script(spec));
    result.script = script;
    result.has_precision = spec.precision.has_value();
    result.reason = spec.profile_only_because;
  } catch (const Error& error) {
    result.error = error.kind();
    result.message = error.what();
  }
  return result;
}

}  // namespace

std::vector<ScriptResult> write_scripts(FileSystem& files, const RunReader& run,
                                        const std::vector<SiteAddress>& sites) {
  std::vector<ScriptResult> results;
  for (const SiteAddress& site : sites) results.push_back(write_one(files, run, site, {}));
  return results;
}

ScriptResult write_script_to(FileSystem& files, const RunReader& run, const SiteAddress& site,
                             const Path& folder) {
  return write_one(files, run, site, folder);
}

}  // namespace fuseproof
