// Which FX value a written buffer must hold when the kernel returns.
//
// Most buffers are the realised value of an FX node. The others are written for the sake of
// something else: a piece of a concatenation, a copy in the layout that a library call wants, a
// weight. For those the value is found through what they are a piece, a copy or an operand of. A
// value is accepted only when dtype and shape fit the buffer, or when nothing but the dtype is
// wrong. An operand that the lowering casts before the call (cumsum of bools) is no node's value,
// but the cast of one.
#pragma once

#include <optional>
#include <string>

#include "fragment/boundary.h"

namespace fuseproof {

struct OutputValue {
  std::string node;  // empty: none was found
  std::optional<SymbolicLayout>
      layout;  // of the written view, relative to the argument; absent: all of it
  // `node` is what the buffer held before the kernel wrote into parts of it; meant is what it
  // holds after that.
  bool after_mutations = false;
  // The buffer copies something that no FX node stands for: `node` is to be a new placeholder,
  // bound like this.
  std::optional<FragmentInput> copied;
  // The buffer holds the value of `node` cast to this dtype, and no FX node stands for the cast.
  std::optional<DType> cast;
  std::string reason;  // why no value was found
};

class OutputValueFinder {
 public:
  // Keeps references to both: they must outlive this.
  OutputValueFinder(const LoweredGraph& lowered, const KernelBoundary& boundary)
      : lowered_(lowered), boundary_(boundary) {}

  // The value that `write`, the last one of `step` into `argument`, leaves there.
  OutputValue find(const RecordedStep& step, const RecordedWrite& write,
                   std::int64_t argument) const;

 private:
  OutputValue mutated_value(const RecordedStep& step, const RecordedWrite& write,
                            std::int64_t argument) const;
  // All of a buffer of which the kernel writes a part.
  OutputValue partly_mutated_value(const RecordedWrite& write, std::int64_t argument) const;
  std::optional<OutputValue> realised_value(const RecordedStep& step, const RecordedWrite& write,
                                            std::int64_t argument) const;
  std::optional<OutputValue> piece_value(const RecordedWrite& write, std::int64_t argument) const;
  std::optional<OutputValue> copied_value(const RecordedWrite& write, std::int64_t argument) const;
  std::optional<OutputValue> consumer_value(const RecordedWrite& write,
                                            std::int64_t argument) const;
  // The value of the operand that `write` is of an FX call.
  std::optional<OutputValue> operand_value(const OperandRef& ref, const RecordedWrite& write,
                                           std::int64_t argument) const;
  std::optional<OutputValue> viewed_value(const RecordedWrite& write) const;
  // A copy that a functional call of the graph (scatter) then changes in place.
  std::optional<OutputValue> overwritten_value(const RecordedStep& step, const RecordedWrite& write,
                                               std::int64_t argument) const;
  std::optional<OutputValue> origin_value(const RecordedStep& step, const RecordedWrite& write,
                                          std::int64_t argument) const;

  // The node that this step realises in the buffer, but with another dtype. Only for outputs that
  // are read outside: such a difference is the kernel's fault, and the check is to show it.
  std::optional<OutputValue> mistyped_value(const RecordedStep& step,
                                            const RecordedWrite& write) const;

  // `node` as the value of the whole buffer, when its dtype and shape fit.
  std::optional<OutputValue> fitting(const std::string& node, const std::string& buffer,
                                     std::int64_t argument) const;
  // The same, for a value of this layout.
  std::optional<OutputValue> fitting(const std::string& node, const SymbolicLayout& value,
                                     const std::string& buffer, std::int64_t argument) const;
  // The same for a view of the buffer that holds each of its elements once.
  std::optional<OutputValue> fitting_view(const std::string& node, const SymbolicLayout& value,
                                          const std::string& buffer,
                                          const SymbolicLayout& view) const;
  const SymbolicLayout* tensor_value(const std::string& node) const;
  std::string unfit_reason(const RecordedStep& step, const RecordedWrite& write) const;

  const LoweredGraph& lowered_;
  const KernelBoundary& boundary_;
};

}  // namespace fuseproof
