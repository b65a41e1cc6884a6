// The words in which Fuseproof judges, and what each means for the exit status. One table, in
// vocabulary.cpp: exit codes, JSON, tables on screen and docs/verdicts.md all come from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fuseproof {

enum class Verdict : std::uint8_t {
  kMatch,
  kKernelWrong,
  kOutOfBounds,
  kCrashed,
  kHung,
  kDidNotBuild,
  kNondeterministic,
  kGraphWrong,
  kExternalWrong,
  kEagerWorse,
  kPrecisionCasts,
  kNoiseMagnified,
  kUnspecified,
  kNoOracle,
  kShowsNothing,
  kNotChecked,
};

enum class VerdictClass : std::uint8_t {
  kGood,         // nothing found
  kFinding,      // exit status 1
  kExplained,    // a difference that is no fault of the kernel: shown, exit status 0
  kInconclusive  // nothing was shown: exit status 0, or 3 when no kernel was checked at all
};

struct VerdictInfo {
  Verdict verdict;
  std::string_view name;
  VerdictClass verdict_class;
  std::string_view meaning;  // one sentence, for docs and help
};

std::span<const VerdictInfo> all_verdicts();
const VerdictInfo& verdict_info(Verdict verdict);
std::optional<Verdict> verdict_from_name(std::string_view name);

// The stage of the compiler at which a verdict places the fault.
enum class Stage : std::uint8_t { kNone, kKernel, kGraph, kExternal };
std::string_view stage_name(Stage stage);
// Where a verdict does not fix its stage ("as found"), `found` is used.
Stage verdict_stage(Verdict verdict, Stage found);

// What differs between the two sides of a finding.
enum class DifferenceKind : std::uint8_t {
  kNone,
  kValue,
  kNan,
  kInf,
  kSign,
  kDtype,
  kShape,
  kStride,
  kException,
  kMutation,
  kSideEffect,
};
std::string_view difference_name(DifferenceKind difference);

// The exit status of a set of verdicts: 1 with a finding, 3 when nothing could be judged, else 0.
int exit_status(std::span<const Verdict> verdicts);

// The worse of two, for the verdict of a kernel with several outputs: findings before explained
// differences before matches before inconclusive ones, and in the order of the table.
Verdict worse(Verdict a, Verdict b);

}  // namespace fuseproof
