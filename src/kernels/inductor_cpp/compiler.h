// Runs a C++ compiler: no shell, its messages caught, a limit on its time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/channel.h"
#include "base/files.h"
#include "base/process.h"

namespace fuseproof {

struct CompilerRun {
  ExitStatus status;
  bool timed_out = false;
  std::string output;  // stdout and stderr together, at most its first 256 kB
};

// Throws kIo soon after `is_cancelled` has begun to say true, and leaves nothing running.
CompilerRun run_compiler(const Path& compiler, const std::vector<std::string>& arguments,
                         std::chrono::seconds limit, const IsCancelled& is_cancelled = {});

// The line that says what is wrong: the first with "error" in it, else the first of all.
std::string first_error(const std::string& output);

// For people to paste into a shell.
std::string command_line(const Path& program, const std::vector<std::string>& arguments);

}  // namespace fuseproof
