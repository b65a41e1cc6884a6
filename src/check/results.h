// What a check found, as plain data: for the report, for JSON, for Python.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "bundle/run.h"
#include "bundle/runners.h"
#include "compare/tolerance.h"
#include "verdict/evidence.h"

namespace fuseproof {

struct OutputResult {
  std::string argument;  // "out_ptr1"
  std::string buffer;    // "buf4"
  std::string node;      // FX node, empty when unchecked
  std::string source;    // "fx", "loop_body" or "unchecked"
  std::string layout;    // "float32[8, 24]"
  Judgement judgement;
  std::string worst_index;                             // "[3, 5]"; empty for a match
  std::string kernel_value, eager_value, exact_value;  // at the worst element
  // Largest distance from the float64 run; only where that run was needed.
  std::optional<double> kernel_error, eager_error;
  std::optional<MinimumTolerance> minimum_tolerance;  // of a difference
  std::string cann_line;                              // with the cann criteria
};

struct SiteResult {
  SiteAddress address;
  std::string kernel;
  std::string user_line;   // "model.py:12: x = torch.relu(x + y)"
  std::int64_t call = -1;  // the worst of the calls that were judged
  std::int64_t calls = 1;  // how many were judged
  Verdict verdict = Verdict::kNotChecked;
  Stage stage = Stage::kNone;
  DifferenceKind difference = DifferenceKind::kNone;
  std::string message;
  bool is_known = false;  // a finding that the baseline has: shown, but no failure
  // Set when the bundle or Fuseproof itself was at fault; `message` holds the error's text.
  std::optional<ErrorKind> error;
  std::vector<OutputResult> outputs;
  std::set<std::string> faults_of_other_calls;
  std::vector<std::string> notes;
  std::vector<PythonNode> python_nodes;  // of the fragment, that the reference ran in Python
  std::int64_t kernel_time_ns = 0;
  // Outputs of the kernel that the program goes on with, and how many of them were judged.
  std::int64_t live_outputs = 0;
  std::int64_t live_outputs_checked = 0;

  // The output that decided the verdict; null when none did (a crash).
  const OutputResult* worst_output() const;
  bool is_finding() const;
  // What was found, in all calls: "kernel_wrong value out_ptr0".
  std::set<std::string> faults() const;
};

Json to_json(const SiteResult& result);

// Of a whole check: 2 before 3 before 1 where several meet. Known findings count as explained.
int exit_status(const std::vector<SiteResult>& results);

}  // namespace fuseproof
