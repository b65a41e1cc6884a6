// Controls: outputs that are plainly wrong and must not pass. Where one passes, the check of that
// output shows nothing about the kernel (all its values are zero on these inputs, say, or the
// criteria are too coarse for its scale).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "verdict/evidence.h"

namespace fuseproof {

// Whether a kernel that had written `kernel` would pass: match, or differ in an explained way. The
// span is packed like the evidence.
using PassesCheck = std::function<bool(std::span<const std::byte> kernel)>;

// The first control that passes, as a phrase ("zeros in place of its values pass too"); "" when
// none does. Tried: zeros; the values one place on; the eager values of `others` (packed outputs of
// the same kernel), where dtype and count are the same. The last two are tried only where they are
// far from the right answer; zeros always: an answer of nothing but zeros is what a kernel that
// does nothing gives.
std::string passing_control(const OutputEvidence& evidence, const std::vector<Packed>& others,
                            const PassesCheck& passes);

}  // namespace fuseproof
