// Writes the benchmark.py of bundles, each whole or not at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "bundle/run.h"

namespace fuseproof {

struct ScriptResult {
  SiteAddress site;
  Path script;                          // empty where none was written
  bool has_precision = false;           // it has an eager function and --check
  std::string reason;                   // why it has none
  std::optional<ErrorKind> error = {};  // why none was written: a damaged bundle, a full disk
  std::string message;
};

// One result for each site, in order. A fault of one bundle leaves the others alone.
std::vector<ScriptResult> write_scripts(FileSystem& files, const RunReader& run,
                                        const std::vector<SiteAddress>& sites);

}  // namespace fuseproof
