// Runs a piece of a test once for each SIMD target that this CPU has.
#pragma once

#include <cstdint>

#include <hwy/highway.h>

namespace fuseproof::test {

class ForcedTarget {
 public:
  explicit ForcedTarget(std::int64_t target) { choose(target); }
  ~ForcedTarget() { choose(0); }
  ForcedTarget(const ForcedTarget&) = delete;
  ForcedTarget& operator=(const ForcedTarget&) = delete;

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

template <class Body>
void for_each_target(const Body& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const ForcedTarget forced(target);
    body(hwy::TargetName(target));
  }
}

}  // namespace fuseproof::test
