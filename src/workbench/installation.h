// Where the parts of this installation are: the worker programs, torch, Python.
//
// Looked for in this order: the variable named below; beside the running program (a build tree);
// the package folder of the Python environment that the program was installed into.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/channel.h"
#include "base/files.h"
#include "check/engine.h"

namespace fuseproof {

struct Installation {
  Path runner;     // fuseproof-runner; empty when it was not found
  Path reference;  // fuseproof-reference; empty when it was not found
  Path torch;      // torch's package folder ($FUSEPROOF_TORCH_DIR); empty when it was not found
  Path python;     // the interpreter of scripts and of operators that only Python has
                   // ($FUSEPROOF_PYTHON)
};

// `program` is the running executable. Throws kUsage for a variable that names nothing.
Installation find_installation(FileSystem& files, const Path& program);

// /proc/self/exe.
Path running_program();

// "2.13.0+cpu" from the text of torch's version file; empty when it is not there. Python is not
// started for it.
std::string torch_version(FileSystem& files, const Path& torch);

// The reference alone. Throws kUnsupported when it is not installed.
std::unique_ptr<ReferenceRunner> make_reference(const Installation& installation,
                                                const std::vector<std::string>& imports,
                                                const IsCancelled& is_cancelled = {});

// Makes the workers of a check for this run. What they run is ended when `is_cancelled` says true.
// `imports` names the modules whose operators the reference may run: their code is executed, so
// that only the user names them. Throws kUnsupported, naming what is missing, when the installation
// is incomplete.
WorkbenchFactory workbench_factory(FileSystem& files, const Installation& installation,
                                   const RunReader& run, const std::vector<std::string>& imports,
                                   const IsCancelled& is_cancelled = {});

}  // namespace fuseproof
