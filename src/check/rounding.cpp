#include "check/rounding.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/op_kinds.h"

namespace fuseproof {
namespace {

int coarsest_bits(const Node& node) {
  int bits = 0;
  for (const std::optional<SymbolicLayout>& value : node.values) {
    const int own = value ? dtype_significand_bits(value->dtype) : 0;
    if (own > 0) bits = bits == 0 ? own : std::min(bits, own);
  }
  return bits;
}

}  // namespace

Rounding rounding_before(const Graph& graph, const std::string& target) {
  std::unordered_map<std::string, const Node*> by_name;
  for (const Node& node : graph.nodes) by_name[node.name] = &node;
  std::unordered_set<std::string> seen;
  std::vector<std::string> pending = {target};
  Rounding rounding;
  while (!pending.empty()) {
    const std::string name = pending.back();
    pending.pop_back();
    const auto found = by_name.find(name);
    if (found == by_name.end() || !seen.insert(name).second) continue;
    const Node& node = *found->second;
    const int bits = coarsest_bits(node);
    if (node.kind == NodeKind::kCall && bits > 0) {
      rounding.ops += rounds(node);
      rounding.accumulates_in_open_order |= accumulates_in_open_order(node);
      rounding.coarsest_bits = std::min(rounding.coarsest_bits, bits);
      rounding.is_half_between |= bits < kFloat32SignificandBits && name != target;
    }
    for_each_node_ref(node, [&](const NodeRef& ref) { pending.push_back(ref.name); });
  }
  return rounding;
}

}  // namespace fuseproof
