// The default criteria (docs/verdicts.md). Two steps, so that the float64 run is paid for only
// where it is needed:
//
//  1. screen(): integers, bools and the positions of NaN, Inf and the sign of zero must be equal,
//  and
//     floats must agree to a few units in the last place. That settles nearly every output.
//  2. judge_with_opinion(): where the screen does not settle it, the float64 run of the fragment is
//  the
//     third opinion: the side that is nearer to it is right.
#pragma once

#include <optional>

#include "verdict/evidence.h"

namespace fuseproof {

struct DefaultProfile {
  // Agreement within this many units in the last place, and one more for each rounding op, needs no
  // third opinion …
  double screen_ulps = 1;
  // … up to this many.
  double screen_ulps_limit = 8;
  // Distance from the float64 value that is always granted, in units of the output's last place:
  // this many, and twice the number of rounding ops. Vector math functions are specified to 1 ULP
  // and are within 4 in practice (Sleef's u10 and u35 variants).
  double opinion_ulps = 4;
  double opinion_ulps_per_op = 2;
  // Multiple of the envelope's half-width that is granted besides. A half-width is the largest of a
  // few random draws, and may come out too small for a few elements in a million: this share of the
  // elements may exceed the bound, up to this multiple of it.
  double envelope_factor = 4;
  double outlier_share = 1e-3;
  double outlier_factor = 4;
  // Without an envelope: a kernel whose errors stay within these multiples of eager's own (root
  // mean square, and largest) is as good as eager.
  double eager_rms_factor = 4;
  double eager_max_factor = 4;
};

// The judgement if no float64 opinion is needed, else nothing. Throws kUsage when the sides' dtypes
// or counts differ (the caller judges shapes and dtypes).
std::optional<Judgement> screen(const OutputEvidence& evidence, const DefaultProfile& profile);

// Requires evidence.exact, or evidence.no_oracle.
Judgement judge_with_opinion(const OutputEvidence& evidence, const DefaultProfile& profile);

}  // namespace fuseproof
