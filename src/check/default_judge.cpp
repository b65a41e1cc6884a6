#include "check/default_judge.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fuseproof {
namespace {

// The kernel's elements, with eager's in the places that are open.
std::vector<std::byte> without_open(const OutputEvidence& evidence,
                                    const std::vector<std::byte>& open) {
  std::vector<std::byte> bytes(evidence.kernel.bytes.begin(), evidence.kernel.bytes.end());
  const std::size_t item = dtype_size_bytes(evidence.kernel.dtype);
  for (std::size_t element = 0; element < open.size(); ++element) {
    if (open[element] == std::byte{0}) continue;
    const auto from = evidence.eager.bytes.subspan(element * item, item);
    std::copy(from.begin(), from.end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(element * item));
  }
  return bytes;
}

}  // namespace

OutputEvidence evidence_of(const OutputSides& sides) {
  return {.kernel = sides.kernel.view(),
          .eager = sides.eager.view(),
          .exact = {},
          .no_oracle = "",
          .envelope = {},
          .rounding_ops = sides.rounding_ops,
          .noise_bits = sides.noise_bits};
}

bool is_finding(const Judgement& judgement) {
  return verdict_info(judgement.verdict).verdict_class == VerdictClass::kFinding;
}

bool passes_check(const Judgement& judgement) {
  const VerdictClass verdict_class = verdict_info(judgement.verdict).verdict_class;
  return verdict_class == VerdictClass::kGood || verdict_class == VerdictClass::kExplained;
}

const std::vector<double>& DefaultJudge::exact() const {
  static const std::vector<double> kNone;
  return exact_ ? exact_->values : kNone;
}

Judgement DefaultJudge::judge_kernel(OutputEvidence& evidence) {
  may_ask_ = true;
  Judgement judgement = judge(evidence);
  may_ask_ = false;
  if (judgement.verdict == Verdict::kMatch) return judgement;
  if (const auto rounding = explained_by_rounding(evidence, judgement)) return *rounding;
  return explained_by_openness(evidence, judgement).value_or(judgement);
}

Judgement DefaultJudge::judge_control(OutputEvidence evidence) {
  may_ask_ = false;
  return judge(evidence);
}

Judgement DefaultJudge::judge(OutputEvidence& evidence) {
  if (const std::optional<Judgement> settled = screen(evidence, profile_)) {
    return is_finding(*settled) ? explained_by_decisions(evidence, *settled) : *settled;
  }
  if (may_ask_ && !exact_) exact_ = sides_.exact();
  if (exact_) {
    evidence.exact = exact_->values;
    evidence.no_oracle = exact_->no_oracle;
  }
  if (is_settled_without_envelope(evidence, profile_)) return {};
  if (may_ask_ && !envelope_ && !evidence.exact.empty()) envelope_ = sides_.envelope();
  if (envelope_) evidence.envelope = *envelope_;
  const Judgement judgement = judge_with_opinion(evidence, profile_);
  return is_finding(judgement) ? explained_by_decisions(evidence, judgement) : judgement;
}

Judgement DefaultJudge::explained_by_decisions(const OutputEvidence& evidence,
                                               const Judgement& finding) {
  if (may_ask_ && !span_) span_ = sides_.span();
  if (!span_ || span_->low.empty()) return finding;
  const Span span{span_->low, span_->high};
  return explain_by_decisions(evidence, span, profile_).value_or(finding);
}

// The kernel is right by the fragment as fusion by design computes it.
std::optional<Judgement> DefaultJudge::explained_by_rounding(const OutputEvidence& evidence,
                                                             const Judgement& judgement) {
  if (!sides_.rounds_to_half_between) return std::nullopt;
  const std::vector<OutputSide> unrounded = sides_.unrounded();
  const auto matches = [&](const OutputSide& side) {
    if (side.layout.dtype != evidence.eager.dtype) return false;
    if (side.packed.size() != evidence.eager.bytes.size()) return false;
    OutputEvidence other = evidence;
    other.eager = side.view();
    return passes_check(judge(other));
  };
  if (std::ranges::none_of(unrounded, matches)) return std::nullopt;
  return Judgement{Verdict::kPrecisionCasts, judgement.difference,
                   "the kernel keeps float32 between ops where eager rounds to half precision; the "
                   "fragment without that rounding gives what the kernel gives",
                   judgement.worst_element};
}

// The kernel is right wherever PyTorch says what is.
std::optional<Judgement> DefaultJudge::explained_by_openness(const OutputEvidence& evidence,
                                                             const Judgement& judgement) {
  if (!is_finding(judgement)) return std::nullopt;
  const OutputSides::Open open = sides_.open();
  if (open.elements.size() != evidence.eager.count()) return std::nullopt;
  const std::vector<std::byte> closed = without_open(evidence, open.elements);
  OutputEvidence other = evidence;
  other.kernel.bytes = closed;
  Judgement rest = judge(other);
  if (!passes_check(rest)) rest = explained_by_rounding(other, rest).value_or(rest);
  if (!passes_check(rest)) return std::nullopt;
  const std::string sentences = fmt::format("{}", fmt::join(open.sentences, "; "));
  return Judgement{
      Verdict::kUnspecified, judgement.difference,
      rest.verdict == Verdict::kMatch
          ? "every element that differs hangs on what PyTorch leaves open: " + sentences
          : fmt::format("elements that differ hang on what PyTorch leaves open: {}. Of the others, "
                        "{}",
                        sentences, rest.message),
      judgement.worst_element};
}

}  // namespace fuseproof
