#include "scripts/write_scripts.h"

#include "scripts/benchmark_script.h"
#include "scripts/spec_builder.h"

namespace fuseproof {
namespace {

constexpr const char* kScript = "benchmark.py";

ScriptResult write_one(FileSystem& files, const RunReader& run, const SiteAddress& address) {
  ScriptResult result{.site = address, .script = {}, .reason = {}, .message = {}};
  try {
    const SiteBundle site = run.read_site(address);
    const BenchmarkSpec spec = build_benchmark_spec(files, run, site);
    const Path script = site.folder / kScript;
    files.write_text_atomically(script, benchmark_script(spec));
    result.script = script;
    result.has_precision = spec.precision.has_value();
    result.reason = spec.no_precision_because;
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
  for (const SiteAddress& site : sites) results.push_back(write_one(files, run, site));
  return results;
}

}  // namespace fuseproof
