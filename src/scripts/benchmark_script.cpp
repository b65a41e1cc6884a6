#include "scripts/benchmark_script.h"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <kainjow/mustache.hpp>

#include "scripts/python_source.h"
#include "scripts/templates.h"

namespace fuseproof {
namespace {

namespace mustache = kainjow::mustache;

std::string assignment(const std::string& name, const PythonExpression& value) {
  return python_statement(0, name + " = ", value);
}

const char* python_bool(bool value) { return value ? "True" : "False"; }

PythonExpression numbers(const std::vector<std::int64_t>& values) {
  std::vector<std::string> texts;
  for (const std::int64_t value : values) texts.push_back(fmt::format("{}", value));
  return python_tuple(texts);
}

// Storages that several of the tensors are in.
std::set<std::size_t> shared_storages(const std::vector<TensorSpec>& tensors) {
  std::set<std::size_t> seen;
  std::set<std::size_t> shared;
  for (const TensorSpec& tensor : tensors) {
    if (tensor.storage && !seen.insert(*tensor.storage).second) shared.insert(*tensor.storage);
  }
  return shared;
}

// TensorSpec("arg0_1", (8, 16), (16, 1), torch.float32, …).
std::vector<PythonExpression> tensor_arguments(const TensorSpec& tensor,
                                               const std::set<std::size_t>& shared) {
  const Layout& layout = tensor.layout;
  std::vector<PythonExpression> arguments = {
      python_leaf(python_literal(tensor.name)), numbers(layout.shape), numbers(layout.strides),
      python_leaf(fmt::format("torch.{}", dtype_name(layout.dtype)))};
  if (layout.offset != 0) arguments.push_back(python_leaf(fmt::format("offset={}", layout.offset)));
  if (tensor.range) {
    arguments.push_back(python_leaf("low=" + python_literal(tensor.range->low)));
    arguments.push_back(python_leaf("high=" + python_literal(tensor.range->high)));
  }
  if (tensor.storage && shared.contains(*tensor.storage)) {
    arguments.push_back(python_leaf(fmt::format("storage={}", *tensor.storage)));
  }
  return arguments;
}

PythonExpression fx_inputs(const PrecisionContext& precision) {
  const std::set<std::size_t> shared = shared_storages(precision.fx_input_meta);
  std::vector<PythonExpression> inputs;
  for (const TensorSpec& tensor : precision.fx_input_meta) {
    inputs.push_back(python_group("script.TensorSpec(", tensor_arguments(tensor, shared), ")"));
  }
  return python_group("[", std::move(inputs), "]");
}

PythonExpression output_names(const PrecisionContext& precision) {
  std::vector<PythonExpression> names;
  for (const std::string& name : precision.output_names) {
    names.push_back(python_leaf(python_literal(name)));
  }
  return python_group("[", std::move(names), "]");
}

PythonExpression call_arguments(const BenchmarkSpec& spec) {
  std::vector<TensorSpec> tensors;
  for (const ProfileBuffer& buffer : spec.profile_buffers) tensors.push_back(buffer.tensor);
  const std::set<std::size_t> shared = shared_storages(tensors);
  std::vector<PythonExpression> arguments;
  for (const ScriptArgument& argument : spec.call_arguments) {
    if (!argument.buffer) {
      arguments.push_back(python_leaf(python_literal(argument.number)));
      continue;
    }
    const ProfileBuffer& buffer = spec.profile_buffers[*argument.buffer];
    std::vector<PythonExpression> parts = tensor_arguments(buffer.tensor, shared);
    parts.push_back(python_leaf(fmt::format("role=\"{}\"", role_name(buffer.role))));
    arguments.push_back(python_group("script.BufferSpec(", std::move(parts), ")"));
  }
  return python_group("[", std::move(arguments), "]");
}

// "  nodes  add, relu, …", in lines of the script's width.
std::string wrapped(const std::string& head, const std::vector<std::string>& words) {
  std::string text;
  std::string line = head;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = docstring_text(words[i]) + (i + 1 < words.size() ? "," : "");
    if (line.size() + 1 + word.size() > kPythonColumns && line.size() > head.size()) {
      text += line + "\n";
      line = std::string(head.size(), ' ');
    }
    line += " " + word;
  }
  return text + line;
}

// What the kernel computes, and for which lines of the user's program.
std::string summary(const BenchmarkSpec& spec) {
  std::string text =
      spec.nodes.empty() ? "  nodes  none of the graph's" : wrapped("  nodes ", spec.nodes);
  const char* head = "\n  lines  ";
  for (const std::string& line : spec.user_lines) {
    text += head + docstring_text(line);
    head = "\n         ";
  }
  return text;
}

std::string compile_options(const std::string& device) {
  if (device == "npu") return "{\"npu_backend\": \"ascendc\"}";
  if (device == "cpu") return "{\"cpu_backend\": \"cpp\"}";
  return "{}";
}

void set_precision(const BenchmarkSpec& spec, const std::string& device, mustache::data& data) {
  const PrecisionContext& precision = *spec.precision;
  data.set("precision", true);
  data.set("fx_inputs", assignment("_fx_inputs", fx_inputs(precision)));
  data.set("output_names", assignment("_output_names", output_names(precision)));
  data.set("eager_fn", precision.eager_fn_code);
  data.set("compile_options", compile_options(device));
  data.set("dynamic", python_bool(!spec.is_static));
  data.set("cpp_wrapper", python_bool(spec.cpp_wrapper));
}

}  // namespace

std::string benchmark_script(const BenchmarkSpec& spec) {
  const std::string device = without_device_index(spec.device);
  mustache::data data;
  data.set("kernel", docstring_text(spec.kernel));
  data.set("site", docstring_text(spec.site));
  data.set("graph", docstring_text(spec.graph));
  data.set("made_by", docstring_text(spec.made_by));
  data.set("summary", summary(spec));
  data.set("bench_env", assignment("_bench_env", python_expression(Json(spec.environment))));
  data.set("npu", device == "npu");
  data.set("device", python_literal(device));
  if (spec.threads > 0) data.set("threads", fmt::format("{}", spec.threads));
  data.set("artifacts", assignment("artifacts", python_expression(spec.artifacts)));
  if (!spec.symbol_hints.empty()) {
    const PythonExpression hints = python_expression(Json(spec.symbol_hints));
    data.set("symbol_hints", assignment("_symbol_hints", hints));
  }
  data.set("call_arguments", assignment("_call_args", call_arguments(spec)));
  data.set("precision", false);
  data.set("no_precision_because", docstring_text(spec.no_precision_because));
  data.set("no_precision_literal", python_literal(spec.no_precision_because));
  if (spec.precision) set_precision(spec, device, data);
  mustache::mustache frame(kBenchmarkTemplate);
  frame.set_custom_escape([](const std::string& text) { return text; });
  return frame.render(data);
}

}  // namespace fuseproof
