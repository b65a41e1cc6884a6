// The kernel's boundary: which argument holds which buffer, and which FX values stand in the
// arguments when the kernel is entered. Slicing stops there.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fragment/fragment.h"
#include "fragment/lowering_record.h"

namespace fuseproof {

// Keeps references to both: they must outlive this.
class KernelBoundary {
 public:
  KernelBoundary(const LoweredGraph& lowered, const LoweringRecord& record);

  // The argument through which the kernel writes into the storage that `real` owns.
  std::optional<std::int64_t> written_argument(const std::string& real) const;
  // The argument in which the content of a buffer stands when the kernel is entered.
  std::optional<std::int64_t> entry_argument(const std::string& buffer) const;

  // Whether the kernel computes the buffer of exactly this name, or a piece of it.
  bool computes(const std::string& buffer) const { return computed_.contains(buffer); }
  // Whether one of the kernel's loop bodies comes from this FX node.
  bool is_origin(const std::string& node) const {
    return origins_.contains(node) || origins_.contains(lowered_.computing_call(node));
  }
  const std::set<std::string>& origins() const { return origins_; }

  // The binding of an FX value that stands in an argument on entry; nothing for a value that the
  // kernel computes, or that it never sees. A view of something that stands there too is no input:
  // the view is part of the fragment.
  std::optional<FragmentInput> input_for(const std::string& node) const;

  // The storage of `real` had been mutated by an earlier kernel when this one is entered.
  bool is_mutated_on_entry(const std::string& real) const { return stale_.contains(real); }

  // The layout of a buffer relative to the start of an argument; nothing when it is the argument's
  // own or unknown.
  std::optional<SymbolicLayout> layout_in_argument(const std::string& buffer,
                                                   std::int64_t argument) const;

 private:
  void add_computed(const std::string& buffer);
  void find_overwritten();
  std::optional<FragmentInput> realised_input(const ValueLocation& place) const;
  std::optional<FragmentInput> input_in_base(const ValueLocation& place) const;
  bool is_mutated_here(const std::string& node, const std::string& real) const;
  bool has_operand_in(const std::string& node, const std::string& real) const;

  const LoweredGraph& lowered_;
  const LoweringRecord& record_;
  std::set<std::string> computed_;
  std::set<std::string> origins_;
  std::set<std::string> stale_;
  // First operands of functional calls that the kernel carries out in place: an earlier kernel has
  // put their copies where the results will be.
  std::map<std::string, FragmentInput> overwritten_;
};

// The nodes among the arguments of a call, nested and repeated ones included, in order.
std::vector<std::string> operands(const Node& node);

// A view that counts from the start of its buffer, made relative to where the buffer's own first
// element is.
SymbolicLayout relative_view(SymbolicLayout view, const std::optional<SymbolicLayout>& buffer);

}  // namespace fuseproof
