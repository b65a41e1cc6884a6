#include "verdict/vocabulary.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>

#include "base/files.h"

using namespace fuseproof;

namespace {

std::string exit_text(VerdictClass verdict_class) {
  switch (verdict_class) {
    case VerdictClass::kGood: return "0";
    case VerdictClass::kFinding: return "1";
    case VerdictClass::kExplained: return "0, shown";
    case VerdictClass::kInconclusive: return "0; 3 if nothing was checked";
  }
  return "";
}

std::string stage_text(const VerdictInfo& info) {
  const Stage graph = verdict_stage(info.verdict, Stage::kGraph);
  const Stage external = verdict_stage(info.verdict, Stage::kExternal);
  return graph == external ? std::string(stage_name(graph)) : "as found";
}

}  // namespace

TEST_CASE("docs/verdicts.md holds the table of the code") {
  std::string table = "| verdict | stage | exit | meaning |\n|---|---|---|---|\n";
  for (const VerdictInfo& info : all_verdicts()) {
    table += fmt::format("| `{}` | {} | {} | {} |\n", info.name, stage_text(info),
                         exit_text(info.verdict_class), info.meaning);
  }
  const std::string page = real_file_system().read_text(Path(FUSEPROOF_DOCS) / "verdicts.md");
  INFO("docs/verdicts.md should hold:\n", table);
  CHECK(page.find(table) != std::string::npos);
}

TEST_CASE("a name leads back to its verdict") {
  for (const VerdictInfo& info : all_verdicts()) {
    CHECK(verdict_from_name(info.name) == info.verdict);
  }
  CHECK_FALSE(verdict_from_name("fine"));
}

TEST_CASE("exit status: a finding wins, and 3 needs that nothing was judged") {
  using enum Verdict;
  CHECK(exit_status(std::array{kMatch, kEagerWorse}) == 0);
  CHECK(exit_status(std::array{kMatch, kKernelWrong, kNotChecked}) == 1);
  CHECK(exit_status(std::array{kMatch, kNotChecked}) == 0);
  CHECK(exit_status(std::array{kNotChecked, kShowsNothing, kNoOracle}) == 3);
  CHECK(exit_status({}) == 3);
}

TEST_CASE("of two verdicts a finding is worse than a match, and a match says more than nothing") {
  using enum Verdict;
  CHECK(worse(kMatch, kKernelWrong) == kKernelWrong);
  CHECK(worse(kEagerWorse, kMatch) == kEagerWorse);
  CHECK(worse(kNotChecked, kMatch) == kMatch);
  CHECK(worse(kNotChecked, kEagerWorse) == kEagerWorse);
}
