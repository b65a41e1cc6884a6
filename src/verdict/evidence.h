// What is known about one output of a kernel when it is judged, and the judgement itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/dtype.h"
#include "compare/packed.h"
#include "verdict/vocabulary.h"

namespace fuseproof {

// Both sides of one output, packed in row-major order. Owns nothing.
struct OutputEvidence {
  Packed kernel;
  Packed eager;
  // The fragment in float64, one value for each element (complex: for each part); empty when it was
  // not run or when there is none (`no_oracle` says why).
  std::span<const double> exact;
  std::string no_oracle;
  // Half-width of the spread that rounding alone explains, per element as `exact`; may be empty.
  std::span<const double> envelope;
  // How many ops of the fragment round to a float dtype on the way to this output.
  int rounding_ops = 1;
  // Bits of the significand (float32: 24) of the coarsest float dtype on that way.
  int noise_bits = 24;
};

struct Judgement {
  Verdict verdict = Verdict::kMatch;
  DifferenceKind difference = DifferenceKind::kNone;
  std::string message;                         // empty for a plain match
  std::optional<std::uint64_t> worst_element;  // row-major index
};

}  // namespace fuseproof
