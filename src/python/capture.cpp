#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "base/error.h"
#include "bindings.h"
#include "bundle/run.h"
#include "bundle/side_file.h"
#include "fragment/slicer.h"

namespace fuseproof::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

// The names of the roles are those of kernel.json.
std::string_view use_name(ArgumentUse use) {
  switch (use) {
    case ArgumentUse::kIn: return role_name(ArgumentRole::kIn);
    case ArgumentUse::kOut: return role_name(ArgumentRole::kOut);
    case ArgumentUse::kInOut: return role_name(ArgumentRole::kInOut);
    case ArgumentUse::kSize: return role_name(ArgumentRole::kSize);
  }
  throw Error(ErrorKind::kInternal, "an argument has no role");
}

std::unique_ptr<RunWriter> open_writer(const std::string& run, const std::string& process,
                                       const std::string& launch, const std::string& parent_run,
                                       const std::string& info) {
  const nb::gil_scoped_release release;
  return RunWriter::open(real_file_system(), run, {process, launch, parent_run},
                         parse_json(info, "run information"));
}

void write_site(RunWriter& writer, const std::string& spec, const std::string& fragment,
                const std::string& source, const std::string& object) {
  const Json spec_json = parse_json(spec, "kernel specification");
  const Json fragment_json = parse_json(fragment, "fragment");
  writer.write_site(kernel_spec_from_json({spec_json, "kernel specification"}),
                    fragment_from_json({fragment_json, "fragment"}), source, object);
}

void write_graph(RunWriter& writer, const std::string& graph, const std::string& name,
                 const std::string& document) {
  writer.write_graph(graph, name, parse_json(document, "graph"));
}

void write_call(RunWriter& writer, const std::string& site, const std::string& record) {
  const Json json = parse_json(record, "call record");
  writer.write_call(site, call_record_from_json({json, "call record"}));
}

void write_graph_call(RunWriter& writer, const std::string& graph, const std::string& record) {
  const Json json = parse_json(record, "call record");
  writer.write_graph_call(graph, call_record_from_json({json, "call record"}));
}

// `address` is that of `size_bytes` readable bytes, which the caller keeps alive and unchanged.
std::string write_blob(RunWriter& writer, std::uintptr_t address, std::size_t size_bytes) {
  return writer.write_blob({reinterpret_cast<const std::byte*>(address), size_bytes});
}

void update_info(RunWriter& writer, const std::string& fields) {
  writer.update_info(parse_json(fields, "run information"));
}

LoweredGraph lowered_graph(const std::string& text) {
  const nb::gil_scoped_release release;
  const Json json = parse_json(text, "lowered graph");
  return lowered_graph_from_json({json, "lowered graph"});
}

std::string slice_kernel(const LoweredGraph& lowered, const std::string& text) {
  const Json json = parse_json(text, "lowering record");
  const LoweringRecord record = lowering_record_from_json({json, "lowering record"});
  const SlicedKernel sliced = slice(lowered, record);
  Json uses = Json::array();
  for (const ArgumentUse use : argument_uses(lowered, record)) uses.push_back(use_name(use));
  return json_text({{"fragment", to_json(sliced.fragment)},
                    {"roles", std::move(uses)},
                    {"constants", sliced.constants}},
                   -1);
}

std::optional<std::string> read_side(const std::string& folder, const std::string& module,
                                     const std::string& graph, const std::string& program) {
  return read_side_file(real_file_system(), folder, {module, graph, program});
}

void write_side(const std::string& folder, const std::string& module, const std::string& graph,
                const std::string& program, const std::string& content) {
  write_side_file(real_file_system(), folder, {module, graph, program}, content);
}

// The x86 floating-point control word of the calling thread without its status bits; its value at
// start-up where there is none.
std::uint32_t mxcsr() {
#if defined(__SSE__)
  constexpr std::uint32_t kStatusBits = 0x3f;
  return _mm_getcsr() & ~kStatusBits;
#else
  return CallRecord{}.mxcsr;
#endif
}

}  // namespace

void bind_capture(nb::module_& module) {
  nb::class_<RunWriter>(module, "RunWriter", "Writes one process's part of a run. Thread-safe.")
      .def(nb::new_(&open_writer), "run"_a, "process"_a, "launch"_a, "parent_run"_a, "info"_a)
      .def_prop_ro("run_id", &RunWriter::run_id)
      .def_prop_ro("process", &RunWriter::process)
      .def_prop_ro("info_path", [](const RunWriter& writer) { return writer.info_path().string(); })
      .def("update_info", &update_info, "fields"_a, WithoutGil())
      .def("write_graph", &write_graph, "graph"_a, "name"_a, "document"_a, WithoutGil())
      .def("write_site", &write_site, "spec"_a, "fragment"_a, "source"_a, "object"_a, WithoutGil())
      .def("write_blob", &write_blob, "address"_a, "size_bytes"_a, WithoutGil())
      .def("write_call", &write_call, "site"_a, "record"_a, WithoutGil())
      .def("write_graph_call", &write_graph_call, "graph"_a, "record"_a, WithoutGil())
      .def("set_byte_budget", &RunWriter::set_byte_budget, "bytes"_a)
      .def_prop_ro("blob_bytes_written", &RunWriter::blob_bytes_written)
      .def_prop_ro("blob_bytes_refused", &RunWriter::blob_bytes_refused);

  nb::class_<LoweredGraph>(module, "LoweredGraph", "An FX graph with what its lowering told.")
      .def(nb::new_(&lowered_graph), "text"_a)
      .def("slice", &slice_kernel, "record"_a, WithoutGil(),
           "The fragment of one kernel, the roles of its arguments and the constants to append.");

  module.def("read_side_file", &read_side, "folder"_a, "module"_a, "graph"_a, "program"_a,
             WithoutGil());
  module.def("write_side_file", &write_side, "folder"_a, "module"_a, "graph"_a, "program"_a,
             "content"_a, WithoutGil());
  module.def(
      "package_hash",
      [](const std::string& package) { return package_hash(real_file_system(), package); },
      "package"_a, WithoutGil());
  module.def("mxcsr", &mxcsr);
  module.def(
      "knows_dtype", [](const std::string& name) { return parse_dtype(name).has_value(); },
      "name"_a, "Whether records can hold tensors of this dtype.");
}

}  // namespace fuseproof::python
