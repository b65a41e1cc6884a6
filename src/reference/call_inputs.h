// The storages of one call, mapped copy-on-write, and the tensors that a fragment sees in them: as
// they are, or with their floats widened. What a run writes into them stays its own. The call's
// generator of random numbers is an input like the others.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "bundle/call_record.h"
#include "fragment/fragment.h"
#include "reference/interpreter.h"
#include "reference/tensors.h"

namespace fuseproof {

class CallInputs {
 public:
  // `fragment` and `call` outlive it. Throws kInternal when the arena is not of this call.
  CallInputs(const Fragment& fragment, const CallRecord& call, const Arena& arena);

  // Sets the inputs' slots, and the generator to where it was: a native run starts here. Throws
  // kBadInput for a binding, or a generator, that does not fit the call.
  void bind(const Program& program, Environment& native);
  // The same in `wide`, with floats in what `widening` makes of their dtype. Two views that alias
  // natively alias there too.
  void bind_widened(const Program& program, Environment& wide, Widening widening);

 private:
  const CallArgument& argument_of(const FragmentInput& input) const;
  std::size_t storage_of(const FragmentInput& input, const CallArgument& argument) const;
  c10::IValue native_value(const FragmentInput& input);
  c10::IValue wide_value(const FragmentInput& input, Widening widening);
  const at::Tensor& wide_base(std::size_t storage, DType dtype, Widening widening);

  const Fragment& fragment_;
  const CallRecord& call_;
  Arena arena_;
  std::vector<c10::Storage> storages_;
  std::map<std::pair<std::size_t, DType>, at::Tensor> wide_bases_;  // of the one widening used
};

}  // namespace fuseproof
