// What the reference says of one call: its runs, each once and only when it is asked for.
//
// All outputs of a fragment share one run of each mode. What loop bodies were translated to is a
// second way to outputs that the FX graph does not have, and must not cost the others their
// reference: where a run of the whole fails, outputs from FX values are taken from a run without
// loop bodies, and each of the others from a run with its own loop body alone.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bundle/runners.h"
#include "check/default_judge.h"

namespace fuseproof {

// Outputs are named by their index in the fragment.
class Opinions {
 public:
  // Keeps references to all: they must outlive this. `inputs` holds the call's storages as they
  // were before the call.
  Opinions(const Fragment& fragment, const CallRecord& call, const Arena& inputs,
           ReferenceRunner& reference);

  // What the fragment raises, or "". What loop bodies were translated to counts for nothing here.
  std::string exception();
  // Why an output's loop body cannot be run where the rest of the fragment can, or "".
  std::string problem(std::size_t output);
  std::vector<PythonNode> python_nodes();

  // Of an output without a problem, in a fragment that raises nothing.
  OutputSide native(std::size_t output);
  OutputSides::Exact exact(std::size_t output);
  std::vector<double> envelope(std::size_t output);
  OutputSides::FreeSpan span(std::size_t output);
  std::vector<OutputSide> unrounded(std::size_t output);
  OutputSides::Open open(std::size_t output);

 private:
  // Which part of the fragment: all of it, what is no loop body's, or one loop body's output.
  using Part = std::size_t;
  static constexpr Part kWhole = 0;
  static constexpr Part kFxPart = 1;
  static constexpr Part kLoopParts = 2;

  // What a mode says of one output.
  struct Opinion {
    const ReferenceResult* result;
    std::size_t position;  // among the run's outputs (kSpan, kUnrounded: twice that)

    const ReferenceRun& run() const { return result->runs.at(0); }
    OutputSide side(std::size_t index) const;
    OutputSide side() const { return side(position); }
    std::vector<double> numbers(std::size_t index) const;
  };
  Opinion of(std::size_t output, ReferenceMode mode);

  bool is_split(ReferenceMode mode);
  Part part_of(std::size_t output, ReferenceMode mode);
  const Fragment& fragment_of(Part part);
  const ReferenceResult& result(Part part, ReferenceMode mode);
  ReferenceResult run(Part part, ReferenceMode mode);
  const ReferenceResult& native_result();

  const Fragment& fragment_;
  const CallRecord& call_;
  const Arena& inputs_;
  ReferenceRunner& reference_;
  bool has_fx_ = false;
  bool has_loop_bodies_ = false;
  std::map<Part, Fragment> parts_;
  std::map<std::pair<Part, ReferenceMode>, ReferenceResult> results_;
};

}  // namespace fuseproof
