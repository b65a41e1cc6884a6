#include "verdict/vocabulary.h"

#include <algorithm>
#include <array>

namespace fuseproof {
namespace {

using enum VerdictClass;

constexpr std::array kVerdicts = {
    VerdictInfo{Verdict::kMatch, "match", kGood,
                "The kernel gives what its fragment gives, as closely as its dtypes allow."},
    VerdictInfo{Verdict::kKernelWrong, "kernel_wrong", kFinding,
                "The kernel's result is wrong, and the float64 opinion (or exact arithmetic) sides "
                "with eager."},
    VerdictInfo{Verdict::kOutOfBounds, "out_of_bounds", kFinding,
                "The kernel wrote outside its buffers, or into the gaps of one."},
    VerdictInfo{Verdict::kCrashed, "crashed", kFinding, "The kernel ended with a signal."},
    VerdictInfo{Verdict::kHung, "hung", kFinding, "The kernel did not end within its time limit."},
    VerdictInfo{Verdict::kDidNotBuild, "did_not_build", kFinding,
                "The compiler or the loader refused the generated source."},
    VerdictInfo{Verdict::kNondeterministic, "nondeterministic", kFinding,
                "Two runs on the same inputs differ, beyond what unwritten elements explain."},
    VerdictInfo{
        Verdict::kGraphWrong, "graph_wrong", kFinding,
        "The graph that was lowered already gives another answer than the graph before it."},
    VerdictInfo{Verdict::kExternalWrong, "external_wrong", kFinding,
                "A library call that Inductor chose (mm, convolution, …) gives a wrong answer."},
    VerdictInfo{Verdict::kEagerWorse, "eager_worse", kExplained,
                "Kernel and eager differ, and the kernel is the one that the float64 opinion sides "
                "with."},
    VerdictInfo{Verdict::kPrecisionCasts, "precision_casts", kExplained,
                "The kernel keeps float32 between fused half-precision ops where eager rounds."},
    VerdictInfo{Verdict::kNoiseMagnified, "noise_magnified", kExplained,
                "A later step magnifies rounding differences that are within bounds themselves."},
    VerdictInfo{Verdict::kUnspecified, "unspecified", kExplained,
                "PyTorch leaves the result open for these inputs."},
    VerdictInfo{
        Verdict::kNoOracle, "no_oracle", kInconclusive,
        "Kernel and eager differ, and no float64 opinion can be had to say which is right."},
    VerdictInfo{Verdict::kShowsNothing, "shows_nothing", kInconclusive,
                "The check passed, but a kernel that is plainly wrong would pass it too."},
    VerdictInfo{Verdict::kNotChecked, "not_checked", kInconclusive,
                "The kernel was not judged; the reason stands beside it."},
};

constexpr bool rows_follow_the_enum() {
  for (std::size_t i = 0; i < kVerdicts.size(); ++i) {
    if (static_cast<std::size_t>(kVerdicts[i].verdict) != i) return false;
  }
  return true;
}
static_assert(rows_follow_the_enum());

constexpr std::array<std::string_view, 4> kStages = {"none", "kernel", "graph", "external"};
constexpr std::array<std::string_view, 11> kDifferences = {
    "none",  "value",  "nan",       "inf",      "sign",       "dtype",
    "shape", "stride", "exception", "mutation", "side_effect"};

// Lower is worse.
int rank(Verdict verdict) {
  constexpr int kClassRank[] = {2, 0, 1, 3};  // by VerdictClass
  return kClassRank[static_cast<std::size_t>(verdict_info(verdict).verdict_class)] * 100 +
         static_cast<int>(verdict);
}

}  // namespace

std::span<const VerdictInfo> all_verdicts() { return kVerdicts; }

const VerdictInfo& verdict_info(Verdict verdict) {
  return kVerdicts[static_cast<std::size_t>(verdict)];
}

std::optional<Verdict> verdict_from_name(std::string_view name) {
  for (const VerdictInfo& info : kVerdicts) {
    if (info.name == name) return info.verdict;
  }
  return std::nullopt;
}

std::string_view stage_name(Stage stage) { return kStages[static_cast<std::size_t>(stage)]; }

Stage verdict_stage(Verdict verdict, Stage found) {
  switch (verdict) {
    case Verdict::kMatch: return Stage::kNone;
    case Verdict::kGraphWrong: return Stage::kGraph;
    case Verdict::kExternalWrong: return Stage::kExternal;
    default: break;
  }
  return verdict_info(verdict).verdict_class == kFinding ? Stage::kKernel : found;
}

std::string_view difference_name(DifferenceKind difference) {
  return kDifferences[static_cast<std::size_t>(difference)];
}

int exit_status(std::span<const Verdict> verdicts) {
  const auto any = [&](auto holds) { return std::any_of(verdicts.begin(), verdicts.end(), holds); };
  if (any([](Verdict v) { return verdict_info(v).verdict_class == kFinding; })) return 1;
  return any([](Verdict v) { return verdict_info(v).verdict_class != kInconclusive; }) ? 0 : 3;
}

Verdict worse(Verdict a, Verdict b) { return rank(a) <= rank(b) ? a : b; }

}  // namespace fuseproof
