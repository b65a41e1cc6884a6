// Writes lowering records for tests, as capture would. All tensors are float32[4] unless said.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/json.h"
#include "fragment/lowering_record.h"
#include "fragment/slicer.h"

namespace fuseproof::testing {

inline Json layout(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides,
                   std::int64_t offset = 0, const std::string& dtype = "float32") {
  return {{"dtype", dtype}, {"shape", shape}, {"strides", strides}, {"offset", offset}};
}

// The same with expressions among the numbers.
inline Json symbolic_layout(const Json& shape, const Json& strides, const Json& offset = 0) {
  const Json json = {
      {"dtype", "float32"}, {"shape", shape}, {"strides", strides}, {"offset", offset}};
  return to_json(symbolic_layout_from_json({json, "layout"}));
}

inline Json vector4() { return layout({4}, {1}); }

// A graph, its locations and its buffers.
class GraphWriter {
 public:
  GraphWriter() {
    json_ = {{"graph", {{"nodes", Json::array()}}}, {"mutations", Json::object()},
             {"problems", Json::object()},          {"external_nodes", Json::array()},
             {"locations", Json::array()},          {"buffers", Json::object()}};
  }

  // A graph input, which is a buffer of the same name.
  GraphWriter& input(const std::string& name, const Json& value = vector4()) {
    node({{"name", name}, {"kind", "placeholder"}, {"values", {value}}});
    buffer(name, value);
    return at(name, name);
  }
  GraphWriter& call(const std::string& name, const std::string& target,
                    const std::vector<std::string>& operands, const Json& value = vector4()) {
    Json arguments = Json::array();
    for (const std::string& operand : operands) arguments.push_back({{"node", operand}});
    node({{"name", name},
          {"kind", "call"},
          {"target", target},
          {"arguments", arguments},
          {"keywords", Json::object()},
          {"values", {value}}});
    return *this;
  }
  GraphWriter& node(const Json& node) {
    json_["graph"]["nodes"].push_back(node);
    return *this;
  }
  GraphWriter& buffer(const std::string& name, const Json& value = vector4()) {
    json_["buffers"][name] = {{"layout", value}};
    return *this;
  }
  GraphWriter& buffer_field(const std::string& name, const std::string& field, const Json& value) {
    json_["buffers"][name][field] = value;
    return *this;
  }
  // The value of `node` is all of `buffer`.
  GraphWriter& at(const std::string& node, const std::string& buffer) {
    json_["locations"].push_back({{"node", node}, {"buffer", buffer}});
    return *this;
  }
  GraphWriter& view_at(const std::string& node, const std::string& buffer, const Json& view) {
    json_["locations"].push_back({{"node", node}, {"buffer", buffer}, {"view", view}});
    return *this;
  }
  // A call whose value is a buffer of its own.
  GraphWriter& realised(const std::string& name, const std::string& target,
                        const std::vector<std::string>& operands, const std::string& buffer_name,
                        const Json& value = vector4()) {
    call(name, target, operands, value);
    buffer(buffer_name, value);
    return at(name, buffer_name);
  }
  GraphWriter& set(const std::string& field, const Json& value) {
    json_[field] = value;
    return *this;
  }

  LoweredGraph lowered() const { return lowered_graph_from_json({json_, "graph"}); }

 private:
  Json json_;
};

class KernelWriter {
 public:
  KernelWriter() {
    json_ = {{"kernel", "cpp_fused_0"}, {"arguments", Json::array()}, {"steps", Json::array()}};
  }

  KernelWriter& argument(const std::string& use, const std::string& value,
                         const std::vector<std::string>& aliases = {}) {
    const std::string name = use + "_ptr" + std::to_string(json_["arguments"].size());
    Json argument = {{"name", name}, {"use", use}, {"type", "float*"}, {"value", value}};
    if (!aliases.empty()) argument["aliases"] = aliases;
    json_["arguments"].push_back(argument);
    return *this;
  }
  // A loop body that writes `buffer`; `extra` adds to the write or changes it.
  KernelWriter& step(const std::vector<std::string>& reads, const std::string& buffer,
                     const std::vector<std::string>& origins, const Json& extra = Json::object()) {
    Json read_list = Json::array();
    for (const std::string& read : reads) read_list.push_back({{"buffer", read}, {"real", read}});
    Json write = {{"buffer", buffer}, {"real", buffer}, {"is_live", true}};
    write.update(extra);
    json_["steps"].push_back({{"reads", read_list}, {"writes", {write}}, {"origins", origins}});
    return *this;
  }
  // Changes how the last step reads: `buffer` is a later name of the storage of `real`.
  KernelWriter& reads_renamed(const std::string& buffer, const std::string& real) {
    json_["steps"].back()["reads"].push_back({{"buffer", buffer}, {"real", real}});
    return *this;
  }

  // The loop body of the last step.
  KernelWriter& body(const Json& body) {
    json_["steps"].back()["body"] = body;
    return *this;
  }

  LoweringRecord record() const { return lowering_record_from_json({json_, "kernel"}); }

 private:
  Json json_;
};

// "sin cos": the calls of a fragment, in order.
inline std::string calls(const Fragment& fragment) {
  std::string names;
  for (const Node& node : fragment.graph.nodes) {
    if (node.kind == NodeKind::kCall) names += (names.empty() ? "" : " ") + node.name;
  }
  return names;
}

// "arg0_1@0 mm@2": the inputs and the arguments that they are bound to.
inline std::string inputs(const Fragment& fragment) {
  std::string names;
  for (const FragmentInput& input : fragment.inputs) {
    names += (names.empty() ? "" : " ") + input.node + "@" + std::to_string(input.argument);
  }
  return names;
}

// "sin@1 ?@2": the outputs; a question mark where unchecked.
inline std::string outputs(const Fragment& fragment) {
  std::string names;
  for (const FragmentOutput& output : fragment.outputs) {
    const std::string node = output.is_checked() ? output.node : "?";
    names += (names.empty() ? "" : " ") + node + "@" + std::to_string(output.argument);
  }
  return names;
}

}  // namespace fuseproof::testing
