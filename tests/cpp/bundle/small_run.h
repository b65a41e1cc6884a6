// A run with one site, out = in + in over four floats, written by RunWriter.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "bundle/run.h"

namespace fuseproof {

inline Layout four_floats() { return {DType::kFloat32, {4}, {1}, 0}; }

inline KernelSpec add_spec() {
  KernelSpec spec;
  spec.kernel = "cpp_fused_add_0";
  spec.site = "000_cpp_fused_add_0";
  spec.graph = "0";
  spec.arguments = {{"in_ptr0", ArgumentRole::kIn, "const float*", "arg0_1", {}},
                    {"out_ptr0", ArgumentRole::kOut, "float*", "buf0", {}}};
  spec.nodes = {"add"};
  spec.artifact.source_file = "kernel.cpp";
  spec.artifact.recipe.compiler = "g++";
  spec.artifact.recipe.standard = "c++20";
  return spec;
}

inline Fragment add_fragment() {
  Fragment fragment;
  Node input{.name = "arg0_1", .kind = NodeKind::kPlaceholder};
  const SymbolicLayout four = {DType::kFloat32, {4}, {1}, 0};
  input.values = {four};
  Node add{.name = "add", .kind = NodeKind::kCall, .target = "aten.add.Tensor"};
  add.arguments = {{NodeRef{"arg0_1"}}, {NodeRef{"arg0_1"}}};
  add.values = {four};
  add.source_file = "/home/user/model.py";
  add.source_line = 12;
  add.source_text = "return x + x";
  fragment.graph.nodes = {input, add};
  fragment.inputs = {{"arg0_1", 0, std::nullopt}};
  fragment.outputs = {{.argument = 1,
                       .buffer = "buf0",
                       .source = OutputSource::kFx,
                       .node = "add",
                       .layout = std::nullopt,
                       .is_live = true,
                       .reason = ""}};
  return fragment;
}

inline CallRecord add_call(const std::string& blob) {
  CallRecord call;
  call.storages = {{.size_bytes = 16, .address_mod_64 = 0, .blob = blob, .omitted = ""},
                   {.size_bytes = 16, .address_mod_64 = 32, .blob = "", .omitted = "output"}};
  call.arguments.resize(2);
  for (std::size_t i = 0; i < 2; ++i) {
    call.arguments[i].storage = static_cast<std::int64_t>(i);
    call.arguments[i].layout = four_floats();
  }
  return call;
}

inline constexpr std::array<float, 4> kInputValues = {1, -2, 3.5, 100};

// Writes the run and returns its writer.
inline std::unique_ptr<RunWriter> write_small_run(FileSystem& files, const Path& run) {
  auto writer = RunWriter::open(files, run, {"p0", "", ""}, Json::object());
  writer->write_site(add_spec(), add_fragment(), "extern \"C\" void kernel() {}\n", "");
  const std::string blob = writer->write_blob(std::as_bytes(std::span(kInputValues)));
  writer->write_call("000_cpp_fused_add_0", add_call(blob));
  return writer;
}

}  // namespace fuseproof
