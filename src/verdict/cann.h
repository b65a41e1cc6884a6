// The criteria of CANN's msaccucmp, as rows C3–C7 of the requirements ask for them, and the line of
// text that they print for each output. They are coarse by design (a cosine of 0.99 hides a kernel
// that gets one element in a hundred wrong); the default profile is the one that finds faults.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compare/metrics.h"
#include "verdict/evidence.h"

namespace fuseproof {

struct CannThresholds {
  double cosine = 0.99;        // must be exceeded
  double rel_euclid = 0.05;    // must stay below
  double kl = 0.005;           // must stay below
  double rmse_over_mae = 1.1;  // exceeded: a warning, no failure
};

struct CannResult {
  Judgement judgement;  // kMatch or kKernelWrong
  // "output:add precision PASSED: CosineSim=… RelEuclid=… KLDiv=… MAE=… RMSE=… [NOTE: …] [WARN:
  // …]", or "output:add precision check passed: empty tensor".
  std::string line;
};

// Both sides must have the same dtype and count. Integers and bools must be equal.
CannResult judge_cann(const std::string& name, const OutputEvidence& evidence,
                      const CannThresholds& thresholds);

struct ShapedTensor {
  std::vector<std::int64_t> shape;
  Packed packed;
};
// The same for two tensors of which nothing is known yet: another dtype or shape is a failure too.
CannResult judge_cann(const std::string& name, const ShapedTensor& expected,
                      const ShapedTensor& actual, const CannThresholds& thresholds);

}  // namespace fuseproof
