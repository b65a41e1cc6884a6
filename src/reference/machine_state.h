// The state of the process that a call ran under: threads and floating-point units, set for as long
// as an object lives, and the generator of random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

// Gives the default generator for the CPU a state, as torch.get_rng_state() writes it: what draws
// from it next draws what it drew in the program. Throws kBadInput for bytes that are none.
void set_generator(std::span<const std::byte> state);

}  // namespace fuseproof
