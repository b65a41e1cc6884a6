// The state of the process that a call ran under: threads, floating-point units and torch's global
// settings, set for as long as an object lives, and the generator of random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "bundle/call_record.h"

namespace fuseproof {

class MachineState {
 public:
  // MXCSR goes to this thread and to the intra-op threads: a program that flushes denormals sets it
  // before those threads exist, and they inherit it.
  explicit MachineState(const CallRecord& call);
  ~MachineState();
  MachineState(const MachineState&) = delete;
  MachineState& operator=(const MachineState&) = delete;

 private:
  int threads_before_;
  std::uint32_t mxcsr_before_;
  DType default_dtype_before_;
  std::map<std::string, std::string> precision_before_;
};

// How library calls may compute in float32, as in CallRecord: all that this torch knows of, and
// those that are given.
std::map<std::string, std::string> float32_precision();
void set_float32_precision(const std::map<std::string, std::string>& precision);

// Gives the default generator for the CPU a state, as torch.get_rng_state() writes it: what draws
// from it next draws what it drew in the program. Throws kBadInput for bytes that are none.
void set_generator(std::span<const std::byte> state);

}  // namespace fuseproof
