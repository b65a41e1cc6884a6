#include <langinfo.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/process.h"
#include "base/version.h"
#include "cli/command.h"
#include "report/plain_text.h"

namespace fuseproof {
namespace {

// Cuts off the words from the first `--` on, where they may be a script's: CLI11 would mix them up.
std::vector<std::string> cut_marked(std::vector<std::string>& words) {
  if (words.empty() || words.front() != "run") return {};
  const auto mark = std::find(words.begin(), words.end(), "--");
  std::vector<std::string> marked(mark, words.end());
  words.erase(mark, words.end());
  return marked;
}

int main_or_throw(std::vector<std::string> words) {
  const std::vector<std::string> marked = cut_marked(words);
  CLI::App parser(
      "Fuseproof puts the kernels that torch.compile fuses to the proof: it captures them, runs\n"
      "each on its own real inputs against an independent reference, and says which are wrong.",
      "fuseproof");
  parser.require_subcommand(1);
  parser.set_version_flag("--version", fmt::format("fuseproof {}", version()));
  const std::array commands = {add_run_command(parser, marked), add_check_command(parser),
                               add_show_command(parser), add_scripts_command(parser),
                               add_env_command(parser)};
  parser.footer(
      "Example:\n"
      "  fuseproof run train.py --steps 3    capture the script's kernels, then check them\n\n"
      "`fuseproof COMMAND --help` says more.");
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the end
    parser.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream problem;
    const int status = parser.exit(error, out, problem);
    const std::vector<std::string> unknown = parser.remaining();
    if (status != 0 && parser.get_subcommands().empty() && !unknown.empty()) {
      fmt::print(stderr, "fuseproof: there is no command `{}`\n", plain_text(unknown.front()));
    }
    fmt::print(stderr, "{}", problem.str());
    write_stdout(out.str());
    return status == 0 ? 0 : 2;
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
    return fuseproof::main_or_throw({argv + 1, argv + argc});
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
