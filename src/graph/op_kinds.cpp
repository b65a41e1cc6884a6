#include "graph/op_kinds.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

namespace fuseproof {
namespace {

using Names = std::unordered_set<std::string_view>;

// Without their overload.
const Names& moving() {
  static const Names kNames = {"aten.abs",
                               "aten.alias",
                               "aten.amax",
                               "aten.amin",
                               "aten.arange",
                               "aten.argmax",
                               "aten.argmin",
                               "aten.as_strided",
                               "aten.as_strided_scatter",
                               "aten.broadcast_tensors",
                               "aten.cat",
                               "aten.clamp",
                               "aten.clamp_max",
                               "aten.clamp_min",
                               "aten.clone",
                               "aten.constant_pad_nd",
                               "aten.copy",
                               "aten.copy_",
                               "aten.copysign",
                               "aten.cummax",
                               "aten.cummin",
                               "aten.detach",
                               "aten.diagonal",
                               "aten.diagonal_scatter",
                               "aten.embedding",
                               "aten.empty",
                               "aten.empty_like",
                               "aten.empty_strided",
                               "aten.expand",
                               "aten.eye",
                               "aten.fill",
                               "aten.fill_",
                               "aten.flip",
                               "aten.fmax",
                               "aten.fmin",
                               "aten.full",
                               "aten.full_like",
                               "aten.gather",
                               "aten.hardtanh",
                               "aten.imag",
                               "aten.index",
                               "aten.index_copy",
                               "aten.index_put",
                               "aten.index_put_",
                               "aten.index_select",
                               "aten.lift_fresh_copy",
                               "aten.masked_fill",
                               "aten.masked_scatter",
                               "aten.max",
                               "aten.max_pool2d_with_indices",
                               "aten.maximum",
                               "aten.median",
                               "aten.min",
                               "aten.minimum",
                               "aten.mode",
                               "aten.neg",
                               "aten.new_empty",
                               "aten.new_full",
                               "aten.new_ones",
                               "aten.new_zeros",
                               "aten.ones",
                               "aten.ones_like",
                               "aten.permute",
                               "aten.pixel_shuffle",
                               "aten.real",
                               "aten.reflection_pad1d",
                               "aten.reflection_pad2d",
                               "aten.reflection_pad3d",
                               "aten.relu",
                               "aten.repeat",
                               "aten.replication_pad1d",
                               "aten.replication_pad2d",
                               "aten.replication_pad3d",
                               "aten.reshape",
                               "aten.resize",
                               "aten.roll",
                               "aten.scalar_tensor",
                               "aten.scatter",
                               "aten.select",
                               "aten.select_scatter",
                               "aten.slice",
                               "aten.slice_scatter",
                               "aten.sort",
                               "aten.split",
                               "aten.split_with_sizes",
                               "aten.squeeze",
                               "aten.stack",
                               "aten.t",
                               "aten.threshold",
                               "aten.topk",
                               "aten.transpose",
                               "aten.tril",
                               "aten.triu",
                               "aten.unbind",
                               "aten.unfold",
                               "aten.unsqueeze",
                               "aten.view",
                               "aten.view_as_complex",
                               "aten.view_as_real",
                               "aten.where",
                               "aten.zeros",
                               "aten.zeros_like",
                               "aten._unsafe_index",
                               "aten._unsafe_masked_index",
                               "aten._unsafe_view",
                               "getitem",
                               "prims.amax",
                               "prims.amin",
                               "prims.broadcast_in_dim",
                               "prims.collapse_view",
                               "prims.device_put",
                               "prims.iota",
                               "prims.rev",
                               "prims.squeeze",
                               "prims.transpose",
                               "prims.view_of",
                               "prims._low_memory_max_pool_with_offsets",
                               "prims._low_memory_max_pool_offsets_to_indices"};
  return kNames;
}

const Names& deciding() {
  static const Names kNames = {"aten.ceil",      "aten.floor", "aten.floor_divide", "aten.fmod",
                               "aten.heaviside", "aten.round", "aten.remainder",    "aten.sgn",
                               "aten.sign",      "aten.trunc", "aten.frac",         "prims.ceil",
                               "prims.floor",    "prims.fmod", "prims.remainder",   "prims.round",
                               "prims.sign",     "prims.trunc"};
  return kNames;
}

const Names& reducing() {
  static const Names kNames = {"aten.linalg_vector_norm",
                               "aten.logsumexp",
                               "aten.mean",
                               "aten.prod",
                               "aten.std",
                               "aten.std_mean",
                               "aten.sum",
                               "aten.var",
                               "aten.var_mean",
                               "prims.sum",
                               "prims.var"};
  return kNames;
}

// By the argument's position.
const std::array<Names, 2>& layout_readers() {
  static const std::array<Names, 2> kNames = {
      Names{"aten.empty_like", "aten.full_like", "aten.new_empty", "aten.new_full", "aten.new_ones",
            "aten.new_zeros", "aten.ones_like", "aten.rand_like", "aten.randint_like",
            "aten.randn_like", "aten.zeros_like"},
      Names{"aten._adaptive_avg_pool2d_backward", "aten._adaptive_avg_pool3d_backward",
            "aten.avg_pool2d_backward", "aten.avg_pool3d_backward",
            "aten.max_pool2d_with_indices_backward", "aten.max_pool3d_with_indices_backward",
            "aten.reflection_pad1d_backward", "aten.reflection_pad2d_backward",
            "aten.reflection_pad3d_backward", "aten.replication_pad1d_backward",
            "aten.replication_pad2d_backward", "aten.replication_pad3d_backward"}};
  return kNames;
}

// Those of the scatter family add up under any arguments.
const Names& accumulating() {
  static const Names kNames = {"aten.embedding_dense_backward", "aten.index_add", "aten.index_add_",
                               "aten.scatter_add", "aten.scatter_add_"};
  return kNames;
}

// Those that add up when they are told to.
const Names& putting() {
  static const Names kNames = {"aten.index_put",
                               "aten.index_put_",
                               "aten._unsafe_index_put",
                               "aten._unsafe_index_put_",
                               "prims._unsafe_index_put_",
                               "aten.put",
                               "aten.put_",
                               "aten._unsafe_masked_index_put_accumulate"};
  return kNames;
}

// "aten.add" of "aten.add.Tensor"; a target without an overload is its own name.
std::string_view name_of(const std::string& target) {
  const std::size_t first = target.find('.');
  const std::size_t last = target.rfind('.');
  return first == last ? std::string_view(target) : std::string_view(target).substr(0, last);
}

}  // namespace

bool moves_values(const std::string& target) { return moving().contains(name_of(target)); }

bool decides(const std::string& target) {
  // Division with rounding_mode floor or trunc.
  if (target == "aten.div.Tensor_mode" || target == "aten.div.Scalar_mode") return true;
  return deciding().contains(name_of(target));
}

bool reads_layout_alone(const std::string& target, std::size_t argument) {
  const auto& readers = layout_readers();
  return argument < readers.size() && readers[argument].contains(name_of(target));
}

bool accumulates_in_open_order(const Node& node) {
  if (!putting().contains(name_of(node.target))) return false;
  if (node.target.starts_with("aten._unsafe_masked_index_put_accumulate")) return true;
  constexpr std::size_t kAccumulate = 3;  // self, indices, values, accumulate
  const auto is_true = [](const Argument& argument) { return argument == Argument{true}; };
  if (node.arguments.size() > kAccumulate) return is_true(node.arguments[kAccumulate]);
  return std::ranges::any_of(node.keywords, [&](const NamedArgument& keyword) {
    return keyword.name == "accumulate" && is_true(keyword.argument);
  });
}

bool accumulates(const Node& node) {
  return accumulating().contains(name_of(node.target)) || accumulates_in_open_order(node);
}

bool reduces(const std::string& target) { return reducing().contains(name_of(target)); }

}  // namespace fuseproof
