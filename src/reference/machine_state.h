// The state of threads and floating-point units that a call ran under, set for as long as this
// lives.
#pragma once

#include <cstdint>

namespace fuseproof {

class MachineState {
 public:
  // `mxcsr` goes to this thread and to the intra-op threads: a program that flushes denormals sets
  // it before those threads exist, and they inherit it.
  MachineState(int threads, std::uint32_t mxcsr);
  ~MachineState();
  MachineState(const MachineState&) = delete;
  MachineState& operator=(const MachineState&) = delete;

 private:
  int threads_before_;
  std::uint32_t mxcsr_before_;
};

}  // namespace fuseproof
