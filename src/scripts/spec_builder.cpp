#include "scripts/spec_builder.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/version.h"
#include "scripts/constant_literal.h"
#include "scripts/eager_function.h"
#include "scripts/value_range.h"

namespace fuseproof {
namespace {

constexpr std::int64_t kMostConstantElements = 16;  // that are written out

// Set by Inductor itself, and different in each process; set by the script's own header.
bool is_left_out(const std::string& variable) {
  return variable == "TORCHINDUCTOR_CACHE_DIR" || variable == "TORCHINDUCTOR_NPU_BACKEND";
}

class SpecBuilder {
 public:
  SpecBuilder(FileSystem& files, const RunReader& run, const SiteBundle& site)
      : files_(files), run_(run), site_(site) {
    for (const auto& [symbol, hint] : site.spec.symbol_hints) symbols_[symbol] = hint;
    if (site.calls.empty()) return;
    call_ = run.read_call(site, site.calls.front());
    for (const auto& [symbol, value] : call_->symbols) symbols_[symbol] = value;
  }

  BenchmarkSpec build() {
    describe();
    read_program();
    add_artifacts();
    add_arguments();
    add_precision();
    return std::move(spec_);
  }

 private:
  void describe() {
    const KernelSpec& kernel = site_.spec;
    spec_.kernel = kernel.kernel;
    spec_.site = kernel.site;
    spec_.graph = kernel.graph;
    spec_.device = kernel.device;
    spec_.threads = kernel.threads;
    spec_.is_static = kernel.is_static;
    spec_.cpp_wrapper = kernel.cpp_wrapper;
    spec_.nodes = kernel.nodes;
    for (const auto& [symbol, hint] : kernel.symbol_hints) {
      const auto* value = std::get_if<std::int64_t>(&symbols_.at(symbol));
      spec_.symbol_hints[symbol] = value != nullptr ? *value : hint;
    }
    std::set<std::string> known;
    for (const Node& node : site_.fragment.graph.nodes) {
      std::string line = user_line(node);
      if (!line.empty() && known.insert(line).second) spec_.user_lines.push_back(std::move(line));
    }
  }

  // What the process that captured the kernel says of itself.
  void read_program() {
    const Path own = run_.path() / site_.address.process / "process.json";
    const bool has_own = files_.exists(own);
    const Path file = has_own ? own : run_.path() / "run.json";
    const Json json = has_own ? parse_json(files_.read_text(own), own.string()) : run_.info();
    const JsonObject info(json, file.string());
    spec_.made_by = fmt::format("Fuseproof {}", version());
    if (info.has("versions")) {
      spec_.made_by +=
          ", torch " + info.object("versions").string_or("torch", "of unknown version");
    }
    if (!info.has("environment")) return;
    const JsonObject environment = info.object("environment");
    for (const auto& [name, value] : environment.value().items()) {
      if (!is_left_out(name)) spec_.environment[name] = environment.string(name);
    }
  }

  void add_artifacts() {
    const Artifact& artifact = site_.spec.artifact;
    const BuildRecipe& recipe = artifact.recipe;
    Json arguments = Json::array();
    for (const KernelArgument& argument : site_.spec.arguments) {
      arguments.push_back(
          {{"name", argument.name}, {"role", role_name(argument.role)}, {"type", argument.type}});
    }
    spec_.artifacts = {{"name", site_.spec.kernel},
                       {"kind", artifact.kind},
                       {"entry", artifact.entry},
                       {"threads", site_.spec.threads},
                       {"arguments", std::move(arguments)},
                       {"recipe",
                        {{"compiler", recipe.compiler},
                         {"compiler_version", recipe.compiler_version},
                         {"standard", recipe.standard},
                         {"flags", recipe.flags},
                         {"defines", recipe.defines},
                         {"libraries", recipe.libraries}}},
                       {"source", files_.read_text(site_.folder / artifact.source_file)}};
  }

  void add_arguments() {
    const std::vector<KernelArgument>& signature = site_.spec.arguments;
    for (std::size_t i = 0; i < signature.size(); ++i) {
      if (call_) {
        add_recorded(signature[i], call_->arguments[i]);
      } else {
        add_unrecorded(signature[i], static_cast<std::int64_t>(i));
      }
    }
  }

  void add_recorded(const KernelArgument& argument, const CallArgument& value) {
    switch (value.kind) {
      case CallArgument::Kind::kInteger:
        spec_.call_arguments.push_back({.buffer = {}, .number = value.integer});
        return;
      case CallArgument::Kind::kFloat:
        spec_.call_arguments.push_back({.buffer = {}, .number = value.number});
        return;
      case CallArgument::Kind::kTensor: break;
    }
    const bool is_read = argument.role != ArgumentRole::kOut;
    add_buffer({.tensor = {.name = argument.name,
                           .layout = value.layout,
                           .storage = static_cast<std::size_t>(value.storage),
                           .range = is_read ? range_of(value.storage, value.layout) : std::nullopt},
                .role = argument.role});
  }

  // Without a call the fragment tells, as far as it names the whole of an argument.
  void add_unrecorded(const KernelArgument& argument, std::int64_t index) {
    if (argument.role == ArgumentRole::kSize) {
      spec_.call_arguments.push_back({.buffer = {}, .number = evaluate(argument.value, symbols_)});
      return;
    }
    const std::optional<SymbolicLayout> layout = layout_of(index);
    if (!layout) {
      throw Error(ErrorKind::kUnsupported,
                  fmt::format("{}: no call is on record, and the fragment does not say what {} is. "
                              "Capture the program again, with calls",
                              (site_.folder / "kernel.json").string(), argument.name));
    }
    add_buffer({.tensor = {.name = argument.name, .layout = resolved_here(*layout, argument.name)},
                .role = argument.role});
  }

  void add_buffer(ProfileBuffer buffer) {
    spec_.call_arguments.push_back({.buffer = spec_.profile_buffers.size(), .number = {}});
    spec_.profile_buffers.push_back(std::move(buffer));
  }

  std::optional<SymbolicLayout> layout_of(std::int64_t argument) const {
    for (const FragmentOutput& output : site_.fragment.outputs) {
      if (output.argument != argument || !output.is_checked()) continue;
      return output.layout ? output.layout : value_of(output.node);
    }
    for (const FragmentInput& input : site_.fragment.inputs) {
      if (input.argument == argument && !input.layout) return value_of(input.node);
    }
    return std::nullopt;
  }

  std::optional<SymbolicLayout> value_of(const std::string& name) const {
    const Node* node = site_.fragment.graph.find(name);
    if (node == nullptr || node->values.size() != 1) return std::nullopt;
    return node->values.front();
  }

  Layout resolved_here(const SymbolicLayout& layout, const std::string& name) const {
    return resolved(layout, symbols_, (site_.folder / "fragment.json").string() + ": " + name);
  }

  void add_precision() {
    const EagerFunction function = eager_function(site_.fragment, symbols_, constants());
    if (!function.failure.empty()) {
      spec_.no_precision_because = function.failure;
      return;
    }
    PrecisionContext precision;
    precision.eager_fn_code = function.code;
    precision.output_names = function.outputs;
    for (const std::string& node : function.inputs) {
      std::optional<TensorSpec> input = fx_input(node);
      if (!input) {
        spec_.no_precision_because = fmt::format("the sizes of input {} are not known", node);
        return;
      }
      precision.fx_input_meta.push_back(std::move(*input));
    }
    spec_.precision = std::move(precision);
  }

  std::optional<TensorSpec> fx_input(const std::string& node) const {
    const FragmentInput* input = input_of(node);
    if (call_ && input != nullptr) {
      const Layout layout = layout_in_storage(*call_, input->argument, input->layout, node);
      const CallArgument& argument = call_->arguments[static_cast<std::size_t>(input->argument)];
      return TensorSpec{.name = node,
                        .layout = layout,
                        .storage = static_cast<std::size_t>(argument.storage),
                        .range = range_of(argument.storage, layout)};
    }
    const std::optional<SymbolicLayout> layout = value_of(node);
    if (!layout) return std::nullopt;
    try {
      return TensorSpec{.name = node, .layout = resolved_here(*layout, node)};
    } catch (const Error&) {
      return std::nullopt;  // a symbol without a value
    }
  }

  const FragmentInput* input_of(const std::string& node) const {
    const auto found = std::ranges::find(site_.fragment.inputs, node, &FragmentInput::node);
    return found == site_.fragment.inputs.end() ? nullptr : &*found;
  }

  // Small constants of the graph, as Python writes them.
  std::map<std::string, std::string> constants() const {
    std::map<std::string, std::string> literals;
    if (!call_) return literals;
    for (const Node& node : site_.fragment.graph.nodes) {
      const FragmentInput* input = input_of(node.name);
      if (node.kind != NodeKind::kConstant || input == nullptr) continue;
      const Layout layout = layout_in_storage(*call_, input->argument, input->layout, node.name);
      if (element_count(layout) > kMostConstantElements || !is_contiguous(layout)) continue;
      const auto argument = static_cast<std::size_t>(input->argument);
      const auto content = content_of(call_->arguments[argument].storage);
      if (!content) continue;
      literals[node.name] = constant_literal(content->bytes(), layout, site_.spec.device);
    }
    return literals;
  }

  std::optional<ValueRange> range_of(std::int64_t storage, const Layout& layout) const {
    if (!has_value_range(layout)) return std::nullopt;
    const auto content = content_of(storage);
    return content ? value_range(content->bytes(), layout) : std::nullopt;
  }

  std::shared_ptr<const FileContent> content_of(std::int64_t storage) const {
    const CallStorage& entry = call_->storages[static_cast<std::size_t>(storage)];
    return entry.blob.empty() ? nullptr : run_.read_blob(entry);
  }

  FileSystem& files_;
  const RunReader& run_;
  const SiteBundle& site_;
  std::optional<CallRecord> call_;
  SymbolValues symbols_;
  BenchmarkSpec spec_;
};

}  // namespace

BenchmarkSpec build_benchmark_spec(FileSystem& files, const RunReader& run,
                                   const SiteBundle& site) {
  return SpecBuilder(files, run, site).build();
}

}  // namespace fuseproof
