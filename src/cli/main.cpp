#include <langinfo.h>

#include <array>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/process.h"
#include "base/version.h"
#include "cli/command.h"
#include "report/plain_text.h"

namespace fuseproof {
namespace {

int main_or_throw(int argc, char** argv) {
  CLI::App parser(
      "Fuseproof puts the kernels that torch.compile fuses to the proof: it captures them, runs\n"
      "each on its own real inputs against an independent reference, and says which are wrong.",
      "fuseproof");
  parser.require_subcommand(1);
  parser.set_version_flag("--version", fmt::format("fuseproof {}", version()));
  const std::array commands = {add_run_command(parser), add_check_command(parser),
                               add_show_command(parser), add_env_command(parser)};
  parser.footer(
      "Example:\n"
      "  fuseproof run train.py --steps 3    capture the script's kernels, then check them\n\n"
      "`fuseproof COMMAND --help` says more.");
  try {
    parser.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parser.exit(error, std::cout, std::cerr) == 0 ? 0 : 2;
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return 2;
}

// Lines of users' programs are UTF-8, and libsmartcols escapes what the locale cannot print.
void use_utf8_text() {
  const char* own = std::setlocale(LC_CTYPE, "");
  const bool is_ascii = ::nl_langinfo(CODESET) == std::string_view("ANSI_X3.4-1968");
  if (own == nullptr || is_ascii) std::setlocale(LC_CTYPE, "C.UTF-8");
}

}  // namespace
}  // namespace fuseproof

int main(int argc, char** argv) {
  fuseproof::hold_standard_descriptors();
  std::signal(SIGPIPE, SIG_DFL);
  fuseproof::use_utf8_text();
  try {
    return fuseproof::main_or_throw(argc, argv);
  } catch (const fuseproof::Error& error) {
    fmt::print(stderr, "fuseproof: {}\n", fuseproof::plain_text(error.what()));
    return fuseproof::error_kind_info(error.kind()).exit_status;
  } catch (const std::exception& error) {
    fmt::print(stderr,
               "fuseproof: internal error: {}\nPlease report it with the command that you ran.\n",
               fuseproof::plain_text(error.what()));
    return fuseproof::error_kind_info(fuseproof::ErrorKind::kInternal).exit_status;
  }
}
