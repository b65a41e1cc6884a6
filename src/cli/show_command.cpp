#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "cli/command.h"
#include "report/site_report.h"
#include "workbench/installation.h"

namespace fuseproof {
namespace {

struct ShowArguments {
  std::string site;
  bool is_unchecked = false;
  bool is_trusted = false;
  std::vector<std::string> imports;
  bool as_json = false;
};

struct RunAndSite {
  Path run;
  std::string site;
};

// "RUN/003", "RUN/<process>/003_cpp_fused_add_0", or the path of the site's folder.
RunAndSite split_address(FileSystem& files, const std::string& address) {
  Path run = Path(address).lexically_normal();
  Path site;
  while (!run.empty() && !files.exists(run / "run.json")) {
    if (run == run.parent_path()) break;
    if (run.filename() != "sites") site = site.empty() ? run.filename() : run.filename() / site;
    run = run.parent_path();
  }
  if (!files.exists(run / "run.json")) {
    throw Error(ErrorKind::kBadInput,
                fmt::format("{} does not lie in a run of Fuseproof; say RUN/SITE, as in "
                            "`fuseproof show RUN/003`",
                            address));
  }
  return {run.empty() ? Path(".") : run, site.string()};
}

SiteAddress find_one(const RunReader& run, const std::string& name) {
  const std::vector<SiteAddress> found = name.empty() ? run.sites() : run.find(name);
  if (found.size() == 1) return found.front();
  std::vector<std::string> choices;
  for (const SiteAddress& address : found.empty() ? run.sites() : found) {
    choices.push_back("  " + (run.path() / address.process / address.site).string());
  }
  const std::string problem =
      name.empty()
          ? "name one of the sites"
          : fmt::format("`{}` names {}", name, found.empty() ? "no site" : "several sites");
  throw Error(ErrorKind::kUsage, fmt::format("{} in {}; there are:\n{}", problem,
                                             run.path().string(), fmt::join(choices, "\n")));
}

std::optional<SiteResult> check_one(const RunReader& run, const SiteAddress& address,
                                    const ShowArguments& arguments) {
  if (arguments.is_unchecked) return std::nullopt;
  FileSystem& files = real_file_system();
  const std::string reason = arguments.is_trusted ? "" : foreign_because(files, run);
  if (!reason.empty()) {
    fmt::print(stderr, "fuseproof: shown without a check: the run {} (--trust runs its code)\n",
               reason);
    return std::nullopt;
  }
  const Installation installation = find_installation(files, running_program());
  std::vector<SiteResult> results = check_sites(
      run, {address}, workbench_factory(files, installation, run, arguments.imports), CheckPlan{});
  if (results.empty()) return std::nullopt;
  return std::move(results.front());
}

int show(const ShowArguments& arguments) {
  FileSystem& files = real_file_system();
  const auto [path, name] = split_address(files, arguments.site);
  const RunReader run(files, path);
  const SiteAddress address = find_one(run, name);
  SiteStory story;
  story.site = run.read_site(address);
  story.source = files.read_text(story.site.folder / story.site.spec.artifact.source_file);
  story.result = check_one(run, address, arguments);
  write_stdout(arguments.as_json ? json_text(site_report_json(story), 1) + "\n"
                                 : site_report_text(story));
  return story.result ? exit_status(std::vector<SiteResult>{*story.result}) : 0;
}

}  // namespace

Command add_show_command(CLI::App& parser) {
  CLI::App* command = parser.add_subcommand(
      "show", "One kernel: user's line, FX nodes, worst element, generated source");
  auto arguments = std::make_shared<ShowArguments>();
  command->add_option("SITE", arguments->site, "RUN/NUMBER or the path of a site's folder")
      ->required();
  command->add_flag("--no-check", arguments->is_unchecked, "show without running the kernel");
  command->add_flag("--trust", arguments->is_trusted, "run native code that was made elsewhere");
  add_import_option(*command, arguments->imports);
  command->add_flag("--json", arguments->as_json, "one JSON document on stdout");
  command->footer("Examples:\n  fuseproof show RUN/3\n  fuseproof show RUN/003 --no-check | less");
  return {command, [arguments] { return show(*arguments); }};
}

}  // namespace fuseproof
