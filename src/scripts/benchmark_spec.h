// What a benchmark.py is written from (docs/scripts.md). Two structures part the graph from the
// writing: the builder (spec_builder.h) reads a bundle and fills them in, the writer
// (benchmark_script.h) sees nothing else. Sizes are numbers here: a script is for one call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/expression_value.h"
#include "base/json.h"
#include "bundle/kernel_spec.h"
#include "tensor/layout.h"

namespace fuseproof {

// The values that a tensor held when it was recorded, ends included. Random tensors keep to it
// where any other value could make no sense: an index out of range, the root of a variance.
struct ValueRange {
  Number low;
  Number high;
};

// A tensor that a script makes.
struct TensorSpec {
  std::string name;
  Layout layout;
  std::optional<std::size_t> storage = {};  // tensors that share memory have the same; absent: own
  std::optional<ValueRange> range = {};     // absent: normally distributed, or both bools
};

// An eager function that computes what the kernel computes.
struct PrecisionContext {
  std::string eager_fn_code;              // Python: the whole function `eager_fn(inputs)`
  std::vector<TensorSpec> fx_input_meta;  // of `inputs`, in order
  std::vector<std::string> output_names;  // of the tuple that it returns, in order
};

// A tensor that the kernel is called with.
struct ProfileBuffer {
  TensorSpec tensor;
  ArgumentRole role = ArgumentRole::kIn;
};

// One argument of the kernel: a buffer, or a number such as a size.
struct ScriptArgument {
  std::optional<std::size_t> buffer;  // index into BenchmarkSpec::profile_buffers
  Number number = std::int64_t{0};    // where there is no buffer
};

struct BenchmarkSpec {
  std::string kernel;
  std::string site;
  std::string graph;
  std::string made_by;                  // "Fuseproof 0.1.0, torch 2.13.0+cpu"
  std::string device = "cpu";           // as captured: "cuda:1"
  int threads = 1;                      // 0: not on record
  bool is_static = true;                // else compiled for any size
  bool cpp_wrapper = false;             // Inductor's setting at generation
  std::vector<std::string> nodes;       // fused FX nodes
  std::vector<std::string> user_lines;  // that they came from
  Json artifacts = Json::object();      // the kernel: all that is needed to build it, by name
  std::vector<ScriptArgument> call_arguments;  // in the order of the kernel's signature
  std::vector<ProfileBuffer> profile_buffers;
  std::map<std::string, std::int64_t> symbol_hints;  // the sizes that stand in this script
  std::map<std::string, std::string> environment;    // TORCHINDUCTOR_* of the generating process
  std::optional<PrecisionContext> precision;
  std::string no_precision_because;  // where there is no precision context
};

}  // namespace fuseproof
