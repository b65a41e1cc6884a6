// The values of a kernel's buffers as its own loop bodies compute them, for outputs that no FX
// value stands for. Each loop body that is needed becomes calls of the fragment's graph, once.
//
// A loop body reads what stands in an argument on entry, the FX value of a buffer, or what an
// earlier loop body leaves there, in this order. Storages that the kernel changes in place hold
// more than one value in turn; loop bodies that read them are refused. Where there are any, FX
// values are copied before they are read: calls of the FX graph may be about to change them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fragment/boundary.h"
#include "fragment/loop_body.h"
#include "fragment/output_value.h"

namespace fuseproof {

// The FX value that a write leaves in its buffer, if the fragment can compute one.
using FindFxValue =
    std::function<std::optional<OutputValue>(const RecordedStep& step, const RecordedWrite& write)>;

class LoopValues {
 public:
  // Keeps references to all: they must outlive this.
  LoopValues(const LoweredGraph& lowered, const LoweringRecord& record,
             const KernelBoundary& boundary, FindFxValue find_fx_value);

  // The value of an output that the FX graph has. Absent layout: all of the buffer.
  void add_known(const std::string& buffer, const std::string& node,
                 const std::optional<SymbolicLayout>& layout);

  // Whether the step that computes the buffer has a recorded loop body.
  bool has_body(const std::string& buffer) const;
  // What the kernel leaves in a buffer, as FX or its loop bodies have it. Throws kUnsupported with
  // the reason.
  BufferValue find(const std::string& buffer);

  // What the wanted nodes need: placeholders and their bindings, and calls in order.
  struct Parts {
    std::vector<Node> placeholders;
    std::vector<FragmentInput> inputs;
    std::vector<Node> calls;
  };
  Parts parts_for(const std::vector<std::string>& wanted) const;

 private:
  struct Origin {
    const RecordedStep* step = nullptr;
    const RecordedWrite* write = nullptr;
  };
  Origin origin_of(const std::string& buffer) const;
  BufferValue loop_value(const std::string& buffer, const RecordedStep& step);
  void check_readable(const std::string& buffer) const;
  std::string load(const std::string& buffer, const SymbolicLayout& view);
  std::string entry_view(const std::string& buffer, std::int64_t argument,
                         const SymbolicLayout& view);
  std::string view_of(const std::string& buffer, const BufferValue& value,
                      const SymbolicLayout& view);
  bool may_change(const std::string& node) const;
  std::string in_memory_order(const std::string& buffer, const BufferValue& value);
  void translate(const RecordedStep& step);

  const LoweredGraph& lowered_;
  const LoweringRecord& record_;
  const KernelBoundary& boundary_;
  FindFxValue find_fx_value_;
  std::set<std::string> changed_;  // owners of storages that are written under another name
  std::map<std::string, BufferValue> known_;
  std::map<std::string, std::string> refused_;  // by buffer: why its loop body has no translation
  std::map<std::pair<std::string, std::string>, std::string> views_;  // by buffer and layout
  std::map<std::string, std::string> flat_;                           // by buffer
  Parts parts_;
};

}  // namespace fuseproof
