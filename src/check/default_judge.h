// The default criteria on one output (docs/verdicts.md): asks the reference for as many further
// runs as the judgement takes, and lets verdict/ judge their numbers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tensor/layout.h"
#include "verdict/default_profile.h"

namespace fuseproof {

// One side's value of an output: packed elements with their shape and dtype.
struct OutputSide {
  Layout layout;
  std::vector<std::byte> packed;

  Packed view() const { return {layout.dtype, packed}; }
};

struct OutputSides {
  OutputSide kernel;
  OutputSide eager;

  // The further runs, called only when they are needed.

  // The float64 run. Empty with the reason in `no_oracle`.
  struct Exact {
    std::vector<double> values;
    std::string no_oracle;
  };
  std::function<Exact()> exact;
  // The envelope round it: as long as its values, or empty when there is none. Costs many runs.
  std::function<std::vector<double>()> envelope;
  // Where free runs of the fragment put each element, for an output that was found wrong; empty
  // when there are none.
  struct FreeSpan {
    std::vector<double> low, high;
  };
  std::function<FreeSpan()> span;
  // What eager would give without half-precision rounding between ops, one side for each way in
  // which fused code leaves it out; empty when there is none.
  std::function<std::vector<OutputSide>()> unrounded;
  // The elements that hang on what PyTorch leaves open, a byte for each, and the sentences that
  // leave it open; empty when there are none.
  struct Open {
    std::vector<std::byte> elements;
    std::vector<std::string> sentences;
  };
  std::function<Open()> open;

  int rounding_ops = 1;
  int noise_bits = 24;
  bool rounds_to_half_between = false;     // before the last op
  bool accumulates_in_open_order = false;  // graph/op_kinds.h
};

// Both sides, before the reference's further runs.
OutputEvidence evidence_of(const OutputSides& sides);

bool is_finding(const Judgement& judgement);
bool passes_check(const Judgement& judgement);  // it is good, or what differs is explained

// The kernel is judged with as many of the reference's further runs as that takes; a control with
// those that the kernel needed, since a check that was settled by an early step fails whatever that
// step does not let through.
class DefaultJudge {
 public:
  // Both outlive it.
  DefaultJudge(const OutputSides& sides, const DefaultProfile& profile)
      : sides_(sides), profile_(profile) {}

  // Adds to `evidence` what the further runs gave.
  Judgement judge_kernel(OutputEvidence& evidence);
  Judgement judge_control(OutputEvidence evidence);

  // The float64 values, if they were needed.
  const std::vector<double>& exact() const;

 private:
  Judgement judge(OutputEvidence& evidence);
  Judgement explained_by_decisions(const OutputEvidence& evidence, const Judgement& finding);
  std::optional<Judgement> explained_by_rounding(const OutputEvidence& evidence,
                                                 const Judgement& judgement);
  std::optional<Judgement> explained_by_openness(const OutputEvidence& evidence,
                                                 const Judgement& judgement);

  const OutputSides& sides_;
  const DefaultProfile& profile_;
  bool may_ask_ = true;
  std::optional<OutputSides::Exact> exact_;
  std::optional<std::vector<double>> envelope_;
  std::optional<OutputSides::FreeSpan> span_;
};

}  // namespace fuseproof
