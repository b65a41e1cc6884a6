#include "fragment/narrowed.h"

#include <algorithm>

namespace fuseproof {
namespace {

// The nodes from loop bodies that stay.
std::set<std::string> needed_of_loop_bodies(const Fragment& fragment) {
  std::set<std::string> needed;
  for (const FragmentOutput& output : fragment.outputs) {
    if (output.is_checked()) needed.insert(output.node);
  }
  const std::vector<Node>& nodes = fragment.graph.nodes;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (!is_of_loop_body(*node) || !needed.contains(node->name)) continue;
    for_each_node_ref(*node, [&](const NodeRef& ref) { needed.insert(ref.name); });
  }
  return needed;
}

}  // namespace

bool is_of_loop_body(const Node& node) { return node.name.find('.') != std::string::npos; }

std::set<std::size_t> outputs_from(const Fragment& fragment, OutputSource source) {
  std::set<std::size_t> indices;
  for (std::size_t i = 0; i < fragment.outputs.size(); ++i) {
    if (fragment.outputs[i].source == source) indices.insert(i);
  }
  return indices;
}

Fragment narrowed(const Fragment& fragment, const std::set<std::size_t>& kept) {
  Fragment result = fragment;
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    if (kept.contains(i)) continue;
    result.outputs[i].source = OutputSource::kUnchecked;
    result.outputs[i].node.clear();
    result.outputs[i].layout.reset();
  }
  const std::set<std::string> needed = needed_of_loop_bodies(result);
  std::set<std::string> gone;
  std::erase_if(result.graph.nodes, [&](const Node& node) {
    const bool is_gone = is_of_loop_body(node) && !needed.contains(node.name);
    if (is_gone) gone.insert(node.name);
    return is_gone;
  });
  std::erase_if(result.inputs,
                [&](const FragmentInput& input) { return gone.contains(input.node); });
  return result;
}

}  // namespace fuseproof
