#include "fragment/lowering_record.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fragment/undivided_means.h"

namespace fuseproof {
namespace {

constexpr std::array kUseNames = {
    std::pair{ArgumentUse::kIn, std::string_view("in")},
    std::pair{ArgumentUse::kOut, std::string_view("out")},
    std::pair{ArgumentUse::kInOut, std::string_view("inout")},
    std::pair{ArgumentUse::kSize, std::string_view("size")},
};

ArgumentUse argument_use_from_json(const JsonObject& object) {
  const std::string name = object.string("use");
  for (const auto& [use, use_name] : kUseNames) {
    if (use_name == name) return use;
  }
  object.fail("use", "is none of in, out, inout, size");
}

std::optional<SymbolicLayout> optional_layout(const JsonObject& object, std::string_view key) {
  if (!object.has(key)) return std::nullopt;
  return symbolic_layout_from_json(object.object(key));
}

OperandRef operand_from_json(const JsonObject& object) {
  return {object.string("node"), object.integer("index"), optional_layout(object, "view")};
}

RecordedWrite write_from_json(const JsonObject& object) {
  RecordedWrite write;
  write.buffer = object.string("buffer");
  write.real = object.string("real");
  write.is_live = object.boolean("is_live");
  write.is_stored = object.boolean_or("is_stored", true);
  if (object.has("copy")) {
    const JsonObject copy = object.object("copy");
    write.copy = BufferCopy{copy.string("source"), symbolic_layout_from_json(copy.object("view"))};
  }
  if (object.has("piece")) write.piece = operand_from_json(object.object("piece"));
  if (object.has("consumers")) {
    for (const JsonObject& consumer : object.objects("consumers")) {
      write.consumers.push_back(operand_from_json(consumer));
    }
  }
  return write;
}

std::vector<LoopRange> ranges_from_json(const JsonObject& object, std::string_view key) {
  std::vector<LoopRange> ranges;
  for (const JsonObject& range : object.objects(key)) {
    ranges.push_back(
        {range.string("variable"), size_from_json(range.raw("size"), range.where() + ": `size`")});
  }
  return ranges;
}

RecordedLoopBody loop_body_from_json(const JsonObject& object) {
  RecordedLoopBody body;
  body.problem = object.string_or("problem", "");
  if (!body.problem.empty()) return body;
  body.iteration = ranges_from_json(object, "iteration");
  body.reduction = ranges_from_json(object, "reduction");
  body.operations = graph_from_json(object.object("graph"));
  return body;
}

RecordedStep step_from_json(const JsonObject& object) {
  RecordedStep step;
  for (const JsonObject& read : object.objects("reads")) {
    step.reads.push_back({read.string("buffer"), read.string("real")});
  }
  for (const JsonObject& write : object.objects("writes")) {
    step.writes.push_back(write_from_json(write));
  }
  step.origins = object.strings("origins");
  if (object.has("body")) step.body = loop_body_from_json(object.object("body"));
  return step;
}

RecordedArgument argument_from_json(const JsonObject& object) {
  RecordedArgument argument;
  argument.name = object.string("name");
  argument.use = argument_use_from_json(object);
  argument.type = object.string("type");
  argument.value = object.string("value");
  if (object.has("aliases")) argument.aliases = object.strings("aliases");
  return argument;
}

bool is_passed_as_input(const LoweringRecord& record, const std::string& value) {
  return std::any_of(record.arguments.begin(), record.arguments.end(), [&](const auto& argument) {
    return argument.use == ArgumentUse::kIn && argument.value == value;
  });
}

// Whether the first thing that the kernel does to the storage of `value` needs its old content.
bool needs_old_content(const LoweringRecord& record, const std::string& value) {
  for (const RecordedStep& step : record.steps) {
    for (const RecordedRead& read : step.reads) {
      if (read.real == value) return true;
    }
    for (const RecordedWrite& write : step.writes) {
      if (write.real == value) return write.buffer != value;
    }
  }
  return false;
}

bool is_written_in_pieces(const LoweredGraph& lowered, const LoweringRecord& record,
                          const std::string& value) {
  for (const RecordedStep& step : record.steps) {
    for (const RecordedWrite& write : step.writes) {
      const auto buffer = lowered.buffers.find(write.buffer);
      if (buffer != lowered.buffers.end() && buffer->second.base == value) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::size_t> LoweredGraph::position(const std::string& node) const {
  const auto found = positions_.find(node);
  if (found == positions_.end()) return std::nullopt;
  return found->second;
}

std::vector<const ValueLocation*> LoweredGraph::locations_of(const std::string& node) const {
  return pick(locations_of_node_, node);
}

std::vector<const ValueLocation*> LoweredGraph::values_in(const std::string& buffer) const {
  return pick(locations_in_buffer_, buffer);
}

std::vector<const ValueLocation*> LoweredGraph::pick(const Index& index,
                                                     const std::string& key) const {
  const auto found = index.find(key);
  if (found == index.end()) return {};
  std::vector<const ValueLocation*> picked;
  for (const std::size_t position : found->second) picked.push_back(&locations[position]);
  return picked;
}

std::string LoweredGraph::storage_of(const std::string& node) const {
  const std::vector<const ValueLocation*> places = locations_of(node);
  return places.empty() ? std::string() : real_name(places.front()->buffer);
}

std::string LoweredGraph::memory_of(const std::string& node) const {
  std::string storage = storage_of(node);
  if (!storage.empty()) return storage;
  const auto mutation = mutations.find(node);
  if (mutation != mutations.end() && !mutation->second.empty()) {
    return memory_of(mutation->second.front());
  }
  const auto alias = aliases.find(node);
  const auto known = storage_of_first_.find(alias == aliases.end() ? node : alias->second);
  return known == storage_of_first_.end() ? std::string() : known->second;
}

const std::string& LoweredGraph::computing_call(const std::string& node) const {
  const std::optional<std::size_t> found = position(node);
  if (!found || at(*found).target != "getitem" || at(*found).arguments.empty()) return node;
  const auto* source = std::get_if<NodeRef>(&at(*found).arguments[0].value);
  return source == nullptr ? node : source->name;
}

const std::string& LoweredGraph::real_name(const std::string& buffer) const {
  const auto found = buffers.find(buffer);
  return found == buffers.end() ? buffer : found->second.real;
}

const std::optional<SymbolicLayout>& LoweredGraph::buffer_layout(const std::string& buffer) const {
  static const std::optional<SymbolicLayout> kUnknown;
  const auto found = buffers.find(buffer);
  return found == buffers.end() ? kUnknown : found->second.layout;
}

void LoweredGraph::build_index() {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) positions_[graph.nodes[i].name] = i;
  for (std::size_t i = 0; i < locations.size(); ++i) {
    locations_of_node_[locations[i].node].push_back(i);
    locations_in_buffer_[locations[i].buffer].push_back(i);
  }
  for (const auto& [node, first] : aliases) {
    for (const std::string& name : {first, node}) {
      std::string storage = storage_of(name);
      if (!storage.empty()) storage_of_first_.emplace(first, std::move(storage));
    }
  }
}

LoweredGraph lowered_graph_from_json(const JsonObject& object) {
  LoweredGraph lowered;
  lowered.graph = graph_from_json(object.object("graph"));
  const JsonObject mutations = object.object("mutations");
  for (const auto& item : mutations.value().items()) {
    lowered.mutations[item.key()] = mutations.strings(item.key());
  }
  if (object.has("aliases")) {
    const JsonObject aliases = object.object("aliases");
    for (const auto& item : aliases.value().items()) {
      lowered.aliases[item.key()] = aliases.string(item.key());
    }
  }
  const JsonObject problems = object.object("problems");
  for (const auto& item : problems.value().items()) {
    lowered.problems[item.key()] = problems.string(item.key());
  }
  for (std::string& node : object.strings("external_nodes")) {
    lowered.external_nodes.insert(std::move(node));
  }
  for (const JsonObject& location : object.objects("locations")) {
    lowered.locations.push_back(
        {location.string("node"), location.string("buffer"), optional_layout(location, "view")});
  }
  const JsonObject buffers = object.object("buffers");
  for (const auto& item : buffers.value().items()) {
    const JsonObject buffer = buffers.object(item.key());
    lowered.buffers[item.key()] = {
        optional_layout(buffer, "layout"),    buffer.string_or("origin", ""),
        buffer.string_or("real", item.key()), buffer.string_or("base", ""),
        optional_layout(buffer, "base_view"), buffer.string_or("sum_for", "")};
  }
  split_undivided_means(lowered);
  lowered.build_index();
  return lowered;
}

LoweringRecord lowering_record_from_json(const JsonObject& object) {
  LoweringRecord record;
  record.kernel = object.string("kernel");
  for (const JsonObject& argument : object.objects("arguments")) {
    record.arguments.push_back(argument_from_json(argument));
  }
  for (const JsonObject& step : object.objects("steps")) {
    record.steps.push_back(step_from_json(step));
  }
  return record;
}

std::vector<ArgumentUse> argument_uses(const LoweredGraph& lowered, const LoweringRecord& record) {
  std::vector<ArgumentUse> uses;
  for (const RecordedArgument& argument : record.arguments) {
    const bool is_read_too =
        argument.use == ArgumentUse::kOut &&
        (is_passed_as_input(record, argument.value) || needs_old_content(record, argument.value));
    const bool is_written_too =
        argument.use == ArgumentUse::kIn && is_written_in_pieces(lowered, record, argument.value);
    uses.push_back(is_read_too || is_written_too ? ArgumentUse::kInOut : argument.use);
  }
  return uses;
}

}  // namespace fuseproof
