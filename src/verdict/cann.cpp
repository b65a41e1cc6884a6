#include "verdict/cann.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compare/positions.h"

namespace fuseproof {
namespace {

// `part` as compare/ counts: a complex element has two.
Judgement wrong(const OutputEvidence& evidence, DifferenceKind kind, std::uint64_t part,
                std::string message) {
  const bool is_complex = dtype_class(evidence.eager.dtype) == DTypeClass::kComplex;
  return {Verdict::kKernelWrong, kind, std::move(message), is_complex ? part / 2 : part};
}

CannResult judge_exact(const std::string& name, const OutputEvidence& evidence) {
  const Positions positions = compare_positions(evidence.eager, evidence.kernel);
  if (positions.value.count == 0) return {{}, fmt::format("output:{} precision PASSED", name)};
  std::string problem =
      fmt::format("{} of {} elements differ", positions.value.count, evidence.eager.count());
  std::string line = fmt::format("output:{} precision FAILED: {}", name, problem);
  return {wrong(evidence, DifferenceKind::kValue, positions.value.first, std::move(problem)),
          std::move(line)};
}

std::string metrics_text(const Metrics& metrics) {
  return fmt::format("CosineSim={:.6f} RelEuclid={:.6g} KLDiv={:.6g} MAE={:.6g} RMSE={:.6g}",
                     metrics.cosine, metrics.rel_euclid, metrics.kl, metrics.mae, metrics.rmse);
}

std::string remarks(const Metrics& metrics, const CannThresholds& thresholds) {
  std::string text;
  if (metrics.aligned_nonfinite > 0) {
    text += fmt::format(
        " [NOTE: {} NaN/Inf elements at the same positions on both sides are left "
        "out]",
        metrics.aligned_nonfinite);
  }
  if (metrics.compared == 0) text += " [WARN: no element is left to compare]";
  if (metrics.mae > 0 && metrics.rmse / metrics.mae > thresholds.rmse_over_mae) {
    text += fmt::format(" [WARN: RMSE/MAE={:.3g}, deviation not concentrated]",
                        metrics.rmse / metrics.mae);
  }
  return text;
}

// "float32[8, 16]".
std::string text_of(const ShapedTensor& tensor) {
  return fmt::format("{}[{}]", dtype_name(tensor.packed.dtype), fmt::join(tensor.shape, ", "));
}

}  // namespace

CannResult judge_cann(const std::string& name, const OutputEvidence& evidence,
                      const CannThresholds& thresholds) {
  if (evidence.eager.count() == 0) {
    return {{}, fmt::format("output:{} precision check passed: empty tensor", name)};
  }
  const DTypeClass kind = dtype_class(evidence.eager.dtype);
  if (kind == DTypeClass::kBool || kind == DTypeClass::kInteger) return judge_exact(name, evidence);

  const Positions positions = compare_positions(evidence.eager, evidence.kernel);
  if (positions.nan.count > 0 || positions.inf.count > 0) {
    const bool is_nan = positions.nan.count > 0;
    const PositionCount& where = is_nan ? positions.nan : positions.inf;
    std::string problem =
        fmt::format("{} at different positions ({} elements)", is_nan ? "NaN" : "Inf", where.count);
    std::string line = fmt::format("output:{} precision FAILED: {}", name, problem);
    return {wrong(evidence, is_nan ? DifferenceKind::kNan : DifferenceKind::kInf, where.first,
                  std::move(problem)),
            std::move(line)};
  }
  const Metrics metrics = measure(evidence.eager, evidence.kernel);
  const bool passes = metrics.cosine > thresholds.cosine &&
                      metrics.rel_euclid < thresholds.rel_euclid && metrics.kl < thresholds.kl;
  std::string line = fmt::format("output:{} precision {}: {}{}", name, passes ? "PASSED" : "FAILED",
                                 metrics_text(metrics), remarks(metrics, thresholds));
  if (passes) return {{}, std::move(line)};
  return {wrong(evidence, DifferenceKind::kValue, metrics.max_abs_index, metrics_text(metrics)),
          std::move(line)};
}

CannResult judge_cann(const std::string& name, const ShapedTensor& expected,
                      const ShapedTensor& actual, const CannThresholds& thresholds) {
  const bool is_same_dtype = expected.packed.dtype == actual.packed.dtype;
  if (is_same_dtype && expected.shape == actual.shape) {
    OutputEvidence evidence;
    evidence.kernel = actual.packed;
    evidence.eager = expected.packed;
    return judge_cann(name, evidence, thresholds);
  }
  std::string problem =
      fmt::format("{} was expected, and it is {}", text_of(expected), text_of(actual));
  std::string line = fmt::format("output:{} precision FAILED: {}", name, problem);
  const DifferenceKind kind = is_same_dtype ? DifferenceKind::kShape : DifferenceKind::kDtype;
  return {{Verdict::kKernelWrong, kind, std::move(problem), std::nullopt}, std::move(line)};
}

}  // namespace fuseproof
