#include "cli/command.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
void write_stdout(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorKind::kIo, fmt::format("cannot write to standard output: {}",
                                            std::generic_category().message(errno)));
  }
}

}  // namespace fuseproof
