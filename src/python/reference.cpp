#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "bundle/run.h"
#include "bundle/runners.h"
#include "workbench/installation.h"

namespace fuseproof::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

// {"exception", "python_nodes": [{"node", "target"}], "outputs": [{"argument", "buffer", "reason" |
//   "node", "layout"}]}: the outputs of the graph's fragment; the checked ones have a layout once
// the graph has run.
Json described(const Fragment& fragment, const ReferenceResult& result) {
  const ReferenceRun& run = result.runs.front();
  Json outputs = Json::array();
  std::size_t checked = 0;
  for (const FragmentOutput& output : fragment.outputs) {
    Json entry = {{"argument", output.argument}, {"buffer", output.buffer}};
    if (output.source != OutputSource::kFx) {
      entry["reason"] = output.reason;
    } else {
      entry["node"] = output.node;
      if (run.exception.empty()) entry["layout"] = to_json(run.outputs.at(checked++).layout);
    }
    outputs.push_back(std::move(entry));
  }
  Json nodes = Json::array();
  for (const auto& [node, target] : result.python_nodes) {
    nodes.push_back({{"node", node}, {"target", target}});
  }
  return {{"exception", run.exception}, {"python_nodes", nodes}, {"outputs", outputs}};
}

class GraphReference {
 public:
  GraphReference(const std::string& program, const std::string& python,
                 const std::vector<std::string>& imports)
      : reference_(make(program, python, imports)) {}

  std::pair<std::string, std::vector<nb::bytes>> run(const std::string& path,
                                                     const std::string& process,
                                                     const std::string& graph, std::int64_t call) {
    std::string text;
    ReferenceResult result;
    {
      const nb::gil_scoped_release no_gil;
      const RunReader reader(real_file_system(), path);
      const GraphBundle bundle = reader.read_graph(process, graph);
      if (!bundle.fragment.failure.empty()) {
        throw Error(ErrorKind::kUnsupported, bundle.fragment.failure);
      }
      const CallRecord record = reader.read_call(bundle, call);
      result = reference_->run(bundle.fragment, record, reader.read_storages(record),
                               {ReferenceMode::kNative});
      text = json_text(described(bundle.fragment, result), -1);
    }
    std::vector<nb::bytes> contents;
    for (const ReferenceOutput& output : result.runs.front().outputs) {
      const std::span<const std::byte> memory = result.arena->storage(output.storage);
      contents.emplace_back(memory.data(), memory.size());
    }
    return {std::move(text), std::move(contents)};
  }

 private:
  static std::unique_ptr<ReferenceRunner> make(const std::string& program,
                                               const std::string& python,
                                               const std::vector<std::string>& imports) {
    Installation installation = find_installation(real_file_system(), program);
    installation.python = python;
    return make_reference(installation, imports);
  }

  std::unique_ptr<ReferenceRunner> reference_;
};

}  // namespace

void bind_reference(nb::module_& module) {
  nb::class_<GraphReference>(module, "GraphReference",
                             "Runs recorded calls of whole graphs by the reference.")
      .def(nb::init<const std::string&, const std::string&, const std::vector<std::string>&>(),
           "program"_a, "python"_a, "imports"_a,
           "`program`: a path in the folder of fuseproof-reference; `python`: the interpreter for "
           "what only Python can run.")
      .def("run", &GraphReference::run, "run"_a, "process"_a, "graph"_a, "call"_a,
           "What happened, as JSON, and the content of each checked output, in order: its elements "
           "and the gaps between them, from its first element on.");
}

}  // namespace fuseproof::python
