#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"
#include "bundle/origin.h"
#include "bundle/run.h"
#include "fragment/whole_graph.h"
#include "tensor/hash.h"

namespace fuseproof {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "3" and "003" name the site "003_cpp_fused_add_0"; so does its whole name.
bool names_site(std::string_view name, std::string_view site) {
  if (name == site) return true;
  const std::string_view number = site.substr(0, site.find('_'));
  if (!is_number(name) || !is_number(number)) return false;
  const auto strip = [](std::string_view digits) {
    const std::size_t first = digits.find_first_not_of('0');
    return first == std::string_view::npos ? std::string_view("0") : digits.substr(first);
  };
  return strip(name) == strip(number);
}

// "999_…" comes before "1000_…", and what has no number last.
std::uint64_t site_number(std::string_view site) {
  const std::string_view digits = site.substr(0, site.find('_'));
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_whole = parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
  return is_whole ? number : std::numeric_limits<std::uint64_t>::max();
}

JsonObject parsed_object(FileSystem& files, const Path& path, Json& holder) {
  holder = parse_json(files.read_text(path), path.string());
  return JsonObject(holder, path.string());
}

std::vector<std::int64_t> recorded_calls(FileSystem& files, const Path& folder) {
  std::vector<std::int64_t> calls;
  if (!files.exists(folder)) return calls;
  for (const std::string& name : files.list(folder)) {
    const std::string_view stem = std::string_view(name).substr(0, name.find('.'));
    if (!name.ends_with(".json") || !is_number(stem)) continue;
    std::int64_t index = 0;
    const auto parsed = std::from_chars(stem.data(), stem.data() + stem.size(), index);
    if (parsed.ec == std::errc()) calls.push_back(index);
  }
  std::sort(calls.begin(), calls.end());
  return calls;
}

[[noreturn]] void fail_fragment(const SiteBundle& site, const std::string& problem) {
  throw Error(ErrorKind::kBadInput,
              fmt::format("{}: {}", (site.folder / "fragment.json").string(), problem));
}

// Every output is bound to an argument that the kernel writes, and a kernel without outputs says
// why.
void require_sound_outputs(const SiteBundle& site) {
  const std::vector<FragmentOutput>& outputs = site.fragment.outputs;
  const std::vector<KernelArgument>& arguments = site.spec.arguments;
  if (outputs.empty() && site.fragment.failure.empty()) {
    fail_fragment(site, "field `outputs` is empty, and `failure` gives no reason");
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto argument = static_cast<std::size_t>(outputs[i].argument);
    if (argument >= arguments.size()) {
      fail_fragment(site, fmt::format("field `outputs[{}].argument` is {}; kernel.json has {} "
                                      "arguments",
                                      i, argument, arguments.size()));
    }
    const ArgumentRole role = arguments[argument].role;
    if (role == ArgumentRole::kOut || role == ArgumentRole::kInOut) continue;
    fail_fragment(site, fmt::format("field `outputs[{}].argument` is {}, `{}`, whose role in "
                                    "kernel.json is {}; an output needs out or inout",
                                    i, argument, arguments[argument].name, role_name(role)));
  }
}

// Sizes are numbers; everything else, the constants behind the kernel's own arguments included, is
// a tensor.
void require_kinds(const SiteBundle& site, const CallRecord& record, const JsonObject& object) {
  for (std::size_t i = 0; i < record.arguments.size(); ++i) {
    const bool is_own = i < site.spec.arguments.size();
    const bool is_size = is_own && site.spec.arguments[i].role == ArgumentRole::kSize;
    const bool is_number = record.arguments[i].kind != CallArgument::Kind::kTensor;
    if (is_size == is_number) continue;
    object.fail(fmt::format("arguments[{}]", i),
                fmt::format("is a {}; {} makes it a {}", is_number ? "number" : "tensor",
                            is_own ? fmt::format("the role of `{}` in kernel.json",
                                                 site.spec.arguments[i].name)
                                   : "its place behind the kernel's own arguments",
                            is_size ? "number" : "tensor"));
  }
}

bool has_values(const SymbolicLayout& layout, const SymbolValues& symbols) {
  std::set<std::string> needed;
  collect_symbols(layout, needed);
  return std::all_of(needed.begin(), needed.end(),
                     [&](const std::string& symbol) { return symbols.contains(symbol); });
}

void require_view_fits(const SiteBundle& site, const CallRecord& record, std::int64_t index,
                       const std::optional<SymbolicLayout>& view, const std::string& field) {
  const CallArgument& argument = record.arguments[static_cast<std::size_t>(index)];
  if (!view || argument.kind != CallArgument::Kind::kTensor) return;
  if (!has_values(*view, record.symbols)) return;  // a check says so
  const std::string where = (site.folder / "fragment.json").string() + ": `" + field + ".layout`";
  const std::uint64_t needed = required_storage_bytes(resolved(*view, record.symbols, where));
  if (needed == 0) return;
  const std::uint64_t begin =
      static_cast<std::uint64_t>(argument.layout.offset) * dtype_size_bytes(argument.layout.dtype);
  const std::uint64_t held = record.storages[static_cast<std::size_t>(argument.storage)].size_bytes;
  if (begin + needed <= held) return;
  fail_fragment(site, fmt::format("field `{}.layout` ends at byte {} of a storage that has {} in "
                                  "calls/{}.json",
                                  field, begin + needed, held, record.index));
}

// A storage that was left out as one of outputs alone holds nothing that is read.
void require_inputs(const SiteBundle& site, const CallRecord& record, const JsonObject& object) {
  for (std::size_t i = 0; i < record.arguments.size(); ++i) {
    const CallArgument& argument = record.arguments[i];
    if (argument.kind != CallArgument::Kind::kTensor) continue;
    const bool is_output =
        i < site.spec.arguments.size() && site.spec.arguments[i].role == ArgumentRole::kOut;
    const auto storage = static_cast<std::size_t>(argument.storage);
    if (is_output || record.storages[storage].omitted != "output") continue;
    object.fail(fmt::format("storages[{}].omitted", storage),
                fmt::format("is \"output\", and argument {} reads it", i));
  }
}

// The fragment's views lie in the storages that the call has for them.
void require_views_fit(const SiteBundle& site, const CallRecord& record) {
  const Fragment& fragment = site.fragment;
  for (std::size_t i = 0; i < fragment.inputs.size(); ++i) {
    require_view_fits(site, record, fragment.inputs[i].argument, fragment.inputs[i].layout,
                      fmt::format("inputs[{}]", i));
  }
  for (std::size_t i = 0; i < fragment.outputs.size(); ++i) {
    require_view_fits(site, record, fragment.outputs[i].argument, fragment.outputs[i].layout,
                      fmt::format("outputs[{}]", i));
  }
}

}  // namespace

RunReader::RunReader(FileSystem& files, Path run) : files_(files), run_(std::move(run)) {
  if (!files_.exists(run_)) {
    throw Error(ErrorKind::kBadInput, fmt::format("{} does not exist", run_.string()));
  }
  if (!files_.exists(run_ / "run.json")) {
    throw Error(ErrorKind::kBadInput,
                fmt::format("{} is no run of Fuseproof: it has no run.json. Make one with "
                            "`fuseproof run script.py`.",
                            run_.string()));
  }
  const JsonObject info = parsed_object(files_, run_ / "run.json", info_);
  read_bundle_version(info);
  for (const std::string& process : files_.list(run_)) {
    const Path folder = run_ / process / "sites";
    if (process == "blobs" || !files_.exists(folder)) continue;
    std::vector<std::string> sites = files_.list(folder);
    std::stable_sort(sites.begin(), sites.end(), [](const std::string& a, const std::string& b) {
      return site_number(a) < site_number(b);
    });
    for (const std::string& site : sites) {
      // A site whose kernel.json is absent was being written when the program ended.
      if (files_.exists(folder / site / "kernel.json")) sites_.push_back({process, site});
    }
  }
}

std::vector<SiteAddress> RunReader::find(const std::string& name) const {
  std::vector<SiteAddress> found;
  for (const SiteAddress& address : sites_) {
    const std::string prefix = address.process + "/";
    const std::string_view wanted = name.starts_with(prefix)
                                        ? std::string_view(name).substr(prefix.size())
                                        : std::string_view(name);
    if (names_site(wanted, address.site)) found.push_back(address);
  }
  return found;
}

SiteBundle RunReader::read_site(const SiteAddress& address) const {
  SiteBundle site;
  site.address = address;
  site.folder = run_ / address.process / "sites" / address.site;
  Json holder;
  site.spec = kernel_spec_from_json(parsed_object(files_, site.folder / "kernel.json", holder));
  site.fragment = fragment_from_json(parsed_object(files_, site.folder / "fragment.json", holder));
  require_sound_outputs(site);
  site.calls = recorded_calls(files_, site.folder / "calls");
  return site;
}

CallRecord RunReader::read_call(const SiteBundle& site, std::int64_t index) const {
  const Path path = site.folder / "calls" / fmt::format("{}.json", index);
  Json holder;
  const JsonObject object = parsed_object(files_, path, holder);
  CallRecord record = call_record_from_json(object);
  if (record.arguments.size() < site.spec.arguments.size()) {
    object.fail("arguments", fmt::format("holds {} entries; kernel.json has {} arguments",
                                         record.arguments.size(), site.spec.arguments.size()));
  }
  for (const FragmentInput& input : site.fragment.inputs) {
    if (input.argument < static_cast<std::int64_t>(record.arguments.size())) continue;
    object.fail("arguments", fmt::format("holds {} entries; fragment.json binds `{}` to number {}",
                                         record.arguments.size(), input.node, input.argument));
  }
  require_kinds(site, record, object);
  require_inputs(site, record, object);
  require_views_fit(site, record);
  return record;
}

GraphBundle RunReader::read_graph(const std::string& process, const std::string& graph) const {
  GraphBundle bundle;
  bundle.folder = run_ / process / "graphs" / graph;
  Json holder;
  bundle.fragment = whole_graph(
      lowered_graph_from_json(parsed_object(files_, bundle.folder / "graph.json", holder)));
  bundle.calls = recorded_calls(files_, bundle.folder / "calls");
  return bundle;
}

CallRecord RunReader::read_call(const GraphBundle& graph, std::int64_t index) const {
  Json holder;
  const JsonObject object =
      parsed_object(files_, graph.folder / "calls" / fmt::format("{}.json", index), holder);
  CallRecord record = call_record_from_json(object);
  if (record.arguments.size() != graph.fragment.inputs.size()) {
    object.fail("arguments",
                fmt::format("holds {} entries; graph.json has {} placeholders and constants",
                            record.arguments.size(), graph.fragment.inputs.size()));
  }
  return record;
}

Arena RunReader::read_storages(const CallRecord& call) const {
  std::vector<StorageRequest> requests;
  for (const CallStorage& storage : call.storages) {
    requests.push_back({storage.size_bytes, storage.address_mod_64});
  }
  Arena arena = Arena::create(requests);
  for (std::size_t i = 0; i < call.storages.size(); ++i) {
    if (call.storages[i].blob.empty()) {
      throw Error(ErrorKind::kBadInput,
                  fmt::format("{}: the content of storage {} of call {} was not kept ({})",
                              run_.string(), i, call.index, call.storages[i].omitted));
    }
    std::ranges::copy(read_blob(call.storages[i])->bytes(), arena.storage(i).begin());
  }
  return arena;
}

std::shared_ptr<const FileContent> RunReader::read_blob(const CallStorage& storage) const {
  const Path path = run_ / "blobs" / storage.blob;
  if (!files_.exists(path)) {
    throw Error(ErrorKind::kBadInput,
                fmt::format("{} is missing: the run was copied without its blobs, or was pruned. "
                            "Copy the whole folder, or capture again.",
                            path.string()));
  }
  std::shared_ptr<const FileContent> content = files_.map(path);
  if (content->bytes().size() != storage.size_bytes) {
    throw Error(ErrorKind::kBadInput,
                fmt::format("{}: has {} bytes where the call record says {}: the file is truncated "
                            "or was edited. Capture again.",
                            path.string(), content->bytes().size(), storage.size_bytes));
  }
  if (xxh128_hex(content->bytes()) != storage.blob) {
    throw Error(ErrorKind::kBadInput,
                fmt::format("{}: its content does not have the hash that is its name: the file was "
                            "edited or damaged. Capture again.",
                            path.string()));
  }
  return content;
}

bool RunReader::is_local() const {
  const JsonObject info(info_, (run_ / "run.json").string());
  const std::string origin = info.string_or("origin", "");
  return !origin.empty() && origin == local_origin(files_, state_folder(), info.string("id"));
}

}  // namespace fuseproof
