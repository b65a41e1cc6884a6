// The default criteria (docs/verdicts.md). Three steps, so that the reference's further runs are
// paid for only where they are needed:
//
//  1. screen(): integers, bools and the positions of NaN, Inf and the sign of zero must be equal,
//  and
//     floats must agree to a few units in the last place. That settles nearly every output.
//  2. judge_with_opinion(): where it does not, the float64 run is the third opinion, with an
//  envelope of
//     what rounding explains.
//  3. explain_by_decisions(): a difference that is too large for rounding may be a branch that fell
//     otherwise, because rounding moved a value over a border.
#pragma once

#include <optional>

#include "compare/errors.h"
#include "verdict/evidence.h"

namespace fuseproof {

struct DefaultProfile {
  // Agreement within this many units in the last place, and one more for each rounding op, needs no
  // third opinion, up to a limit. In half precision the limit is one: a unit is up to 0.8 % there.
  double screen_ulps = 1;
  double screen_ulps_limit = 8;
  double half_screen_ulps_limit = 1;
  // Distance from the float64 value that is always granted: this many units, and two more for each
  // rounding op. Vector math functions are specified to 1 unit and are within 4 (Sleef's u10 and
  // u35). Half-precision kernels compute in float32: the units are float32's there, and one of the
  // output's own comes on top for the last rounding.
  double opinion_ulps = 4;
  double opinion_ulps_per_op = 2;
  // Multiple of the envelope's half-width that is granted besides. A kernel's own rounding errors
  // are its own draw from the same distribution; in half precision it hardly makes any.
  double envelope_factor = 4;
  double half_envelope_factor = 2;
  // Where the envelope is what lets a kernel through, its errors as a whole (root mean square) must
  // not be larger than this multiple of the envelope's half-widths; in half precision, of eager's
  // errors, which are larger than a kernel's, or than what is granted without an envelope, since
  // eager may make none at all. From so many elements on that a mean says something.
  double rms_factor = 3;
  double half_rms_factor = 3;
  std::uint64_t rms_elements = 64;
  // Without an envelope: a kernel whose errors stay within these multiples of eager's own (root
  // mean square, and largest) is as good as eager.
  double eager_rms_factor = 4;
  double eager_max_factor = 4;
};

// The judgement if no float64 opinion is needed, else nothing. Throws kUsage when the sides' dtypes
// or counts differ (the caller judges shapes and dtypes).
std::optional<Judgement> screen(const OutputEvidence& evidence, const DefaultProfile& profile);

// Whether both sides are so near to evidence.exact that no envelope is needed to match.
bool is_settled_without_envelope(const OutputEvidence& evidence, const DefaultProfile& profile);

// Requires evidence.exact, or evidence.no_oracle.
Judgement judge_with_opinion(const OutputEvidence& evidence, const DefaultProfile& profile);

// For an output that was found wrong, of any dtype: noise_magnified when every element that is
// wrong lies where free runs of the fragment put it (`span`), else nothing.
std::optional<Judgement> explain_by_decisions(const OutputEvidence& evidence, const Span& span,
                                              const DefaultProfile& profile);

}  // namespace fuseproof
