#include "bundle/call_record.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

constexpr std::uint64_t kMaxStorageBytes = std::uint64_t{1} << 46;

Json storage_to_json(const CallStorage& storage) {
  Json json = {{"size_bytes", storage.size_bytes}, {"address_mod_64", storage.address_mod_64}};
  if (!storage.blob.empty()) json["blob"] = storage.blob;
  if (!storage.omitted.empty()) json["omitted"] = storage.omitted;
  return json;
}

CallStorage storage_from_json(const JsonObject& object) {
  CallStorage storage;
  storage.size_bytes = object.size("size_bytes");
  if (storage.size_bytes > kMaxStorageBytes) {
    object.fail("size_bytes",
                fmt::format("is {}: no machine has that much memory", storage.size_bytes));
  }
  storage.address_mod_64 = static_cast<std::uint32_t>(object.size("address_mod_64"));
  if (storage.address_mod_64 >= 64) object.fail("address_mod_64", "is not below 64");
  storage.blob = object.string_or("blob", "");
  storage.omitted = object.string_or("omitted", "");
  const bool is_hash = storage.blob.size() == 32 &&
                       storage.blob.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!storage.blob.empty() && !is_hash) object.fail("blob", "is not a 128-bit hash in hex");
  if (storage.blob.empty() && storage.omitted.empty()) {
    object.fail("blob", "is missing, and `omitted` gives no reason");
  }
  constexpr std::array<std::string_view, 4> kReasons = {"", "output", "layout", "budget"};
  if (std::find(kReasons.begin(), kReasons.end(), storage.omitted) == kReasons.end()) {
    object.fail("omitted", "is none of output, layout, budget: " + storage.omitted);
  }
  return storage;
}

Json argument_to_json(const CallArgument& argument) {
  switch (argument.kind) {
    case CallArgument::Kind::kInteger: return {{"integer", argument.integer}};
    case CallArgument::Kind::kFloat: return {{"float", float_to_json(argument.number)}};
    case CallArgument::Kind::kTensor: break;
  }
  return {{"storage", argument.storage}, {"layout", to_json(argument.layout)}};
}

std::int64_t storage_index(const JsonObject& object, const std::string& field,
                           const std::vector<CallStorage>& storages) {
  const std::int64_t index = object.integer(field);
  if (index < 0 || index >= std::ssize(storages)) {
    object.fail(field, fmt::format("is {}, but the call has {} storages", index, storages.size()));
  }
  return index;
}

CallArgument argument_from_json(const JsonObject& object,
                                const std::vector<CallStorage>& storages) {
  CallArgument argument;
  if (object.has("integer")) {
    argument.kind = CallArgument::Kind::kInteger;
    argument.integer = object.integer("integer");
    return argument;
  }
  if (object.has("float")) {
    argument.kind = CallArgument::Kind::kFloat;
    argument.number = float_from_json(object.raw("float"), object.where());
    return argument;
  }
  argument.storage = storage_index(object, "storage", storages);
  argument.layout = layout_from_json(object.object("layout"));
  const std::uint64_t held = storages[static_cast<std::size_t>(argument.storage)].size_bytes;
  if (required_storage_bytes(argument.layout) > held) {
    object.fail("layout",
                fmt::format("needs {} bytes; storage {} has {}",
                            required_storage_bytes(argument.layout), argument.storage, held));
  }
  return argument;
}

int threads_from_json(const JsonObject& object) {
  const std::int64_t threads = object.integer("threads");
  if (threads < 1 || threads > 4096) {
    object.fail("threads", fmt::format("is {}; expected 1 to 4096", threads));
  }
  return static_cast<int>(threads);
}

// A value that cannot be loaded, or that turns a rounding into SIGFPE, would make a right kernel
// look as if it had crashed.
std::uint32_t mxcsr_from_json(const JsonObject& object) {
  constexpr std::uint64_t kExceptionMasks = 0x1f80;
  constexpr std::uint64_t kDefinedBits = 0xffff;
  const std::uint64_t mxcsr = object.size("mxcsr");
  if (mxcsr > kDefinedBits || (mxcsr & kExceptionMasks) != kExceptionMasks) {
    object.fail("mxcsr", fmt::format("is {:#x}; expected 16 bits in which all exceptions are "
                                     "masked ({:#x})",
                                     mxcsr, kExceptionMasks));
  }
  return static_cast<std::uint32_t>(mxcsr);
}

DType default_dtype_from_json(const JsonObject& object) {
  const std::string name = object.string("default_dtype");
  const std::optional<DType> dtype = parse_dtype(name);
  // Those that torch.set_default_dtype takes.
  constexpr std::array kTaken = {DType::kFloat16, DType::kBFloat16, DType::kFloat32,
                                 DType::kFloat64};
  if (!dtype || std::ranges::find(kTaken, *dtype) == kTaken.end()) {
    object.fail("default_dtype", "is no default dtype of PyTorch's: " + name);
  }
  return *dtype;
}

std::map<std::string, std::string> precision_from_json(const JsonObject& object) {
  constexpr std::array<std::string_view, 3> kOps = {"matmul", "conv", "rnn"};
  constexpr std::array<std::string_view, 4> kPrecisions = {"none", "ieee", "tf32", "bf16"};
  std::map<std::string, std::string> precision;
  for (const auto& [op, value] : object.value().items()) {
    if (std::ranges::find(kOps, op) == kOps.end()) object.fail(op, "is none of matmul, conv, rnn");
    precision[op] = object.string(op);
    if (std::ranges::find(kPrecisions, precision[op]) == kPrecisions.end()) {
      object.fail(op, "is none of none, ieee, tf32, bf16: " + precision[op]);
    }
  }
  return precision;
}

}  // namespace

Layout layout_in_storage(const CallRecord& call, std::int64_t argument,
                         const std::optional<SymbolicLayout>& part, const std::string& what) {
  const Layout& view = call.arguments[static_cast<std::size_t>(argument)].layout;
  if (!part) return view;
  Layout layout = resolved(*part, call.symbols, what);
  const auto item = static_cast<std::int64_t>(dtype_size_bytes(layout.dtype));
  const std::int64_t begin_bytes =
      view.offset * static_cast<std::int64_t>(dtype_size_bytes(view.dtype));
  if (begin_bytes % item != 0) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{} begins between two elements of {}", what,
                                                     dtype_name(layout.dtype)));
  }
  layout.offset += begin_bytes / item;
  return layout;
}

Json to_json(const CallRecord& record) {
  Json storages = Json::array();
  for (const CallStorage& storage : record.storages) storages.push_back(storage_to_json(storage));
  Json arguments = Json::array();
  for (const CallArgument& argument : record.arguments) {
    arguments.push_back(argument_to_json(argument));
  }
  Json symbols = Json::object();
  for (const auto& [name, value] : record.symbols) symbols[name] = to_json(value);
  Json json = {{"index", record.index},           {"step", record.step},
               {"threads", record.threads},       {"mxcsr", record.mxcsr},
               {"grad_mode", record.grad_mode},   {"symbols", std::move(symbols)},
               {"storages", std::move(storages)}, {"arguments", std::move(arguments)}};
  json["default_dtype"] = dtype_name(record.default_dtype);
  if (!record.float32_precision.empty()) json["float32_precision"] = record.float32_precision;
  if (record.generator) json["generator"] = *record.generator;
  return json;
}

CallRecord call_record_from_json(const JsonObject& object) {
  CallRecord record;
  record.index = object.integer("index");
  record.step = object.integer("step");
  record.threads = threads_from_json(object);
  record.mxcsr = mxcsr_from_json(object);
  record.grad_mode = object.boolean("grad_mode");
  if (object.has("default_dtype")) record.default_dtype = default_dtype_from_json(object);
  if (object.has("float32_precision")) {
    record.float32_precision = precision_from_json(object.object("float32_precision"));
  }
  const JsonObject symbols = object.object("symbols");
  for (const auto& [name, value] : symbols.value().items()) {
    record.symbols[name] = number_from_json(value, symbols.where() + ": field `" + name + "`");
  }
  for (const JsonObject& storage : object.objects("storages")) {
    record.storages.push_back(storage_from_json(storage));
  }
  for (const JsonObject& argument : object.objects("arguments")) {
    record.arguments.push_back(argument_from_json(argument, record.storages));
  }
  if (object.has("generator")) {
    record.generator = storage_index(object, "generator", record.storages);
    const bool is_used = std::ranges::any_of(record.arguments, [&](const CallArgument& argument) {
      return argument.kind == CallArgument::Kind::kTensor && argument.storage == record.generator;
    });
    if (is_used) object.fail("generator", "is the storage of an argument");
  }
  return record;
}

}  // namespace fuseproof
