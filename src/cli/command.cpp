#include "cli/command.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void on_signal(int) { interrupted = 1; }

}  // namespace

bool is_interrupted() { return interrupted != 0; }

void watch_for_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  // A second Ctrl-C ends the program at once.
  action.sa_flags = SA_RESETHAND;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

void write_stdout(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorKind::kIo, fmt::format("cannot write to standard output: {}",
                                            std::generic_category().message(errno)));
  }
}

}  // namespace fuseproof
