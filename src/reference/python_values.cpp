#include "reference/python_values.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "graph/graph.h"
#include "reference/tensors.h"

namespace fuseproof {
namespace {

using c10::IValue;
using c10::TypeKind;

constexpr const char* kWhere = "reply of the Python worker";

c10::TypePtr without_optional(const c10::TypePtr& type) {
  const auto optional = type->cast<c10::OptionalType>();
  return optional ? optional->getElementType() : type;
}

// An integer of the stack that stands for one of torch's constants.
std::optional<TorchConstant> constant_of(std::int64_t value, TypeKind type) {
  switch (type) {
    case TypeKind::ScalarTypeType:
      return TorchConstant{"dtype",
                           std::string(dtype_name(dtype_of(static_cast<at::ScalarType>(value))))};
    case TypeKind::LayoutType: return TorchConstant{"layout", "strided"};
    case TypeKind::MemoryFormatType:
      return TorchConstant{"memory_format",
                           std::string(memory_format_name(static_cast<at::MemoryFormat>(value)))};
    default: return std::nullopt;
  }
}

Argument number(const at::Scalar& scalar) {
  if (scalar.isBoolean()) return {scalar.toBool()};
  if (scalar.isIntegral(false)) return {scalar.toLong()};
  if (!scalar.isComplex()) return {scalar.toDouble()};
  const c10::complex<double> value = scalar.toComplexDouble();
  return {Complex{value.real(), value.imag()}};
}

// A value without tensors.
Argument plain_argument(const IValue& value, TypeKind type) {
  if (value.isInt()) {
    if (std::optional<TorchConstant> constant = constant_of(value.toInt(), type)) {
      return {*std::move(constant)};
    }
  }
  if (value.isScalar()) return number(value.toScalar());
  if (value.isString()) return {value.toStringRef()};
  if (value.isDevice()) return {TorchConstant{"device", value.toDevice().str()}};
  throw Error(ErrorKind::kUnsupported,
              fmt::format("an argument of type {} cannot be passed to Python", value.tagKind()));
}

// Storage of an arena that lives as long as the storage.
c10::Storage shared_storage(const std::shared_ptr<Arena>& arena, std::size_t index) {
  const std::span<std::byte> memory = arena->storage(index);
  const auto release = [](void* owner) { delete static_cast<std::shared_ptr<Arena>*>(owner); };
  return c10::Storage(c10::Storage::use_byte_size_t(), memory.size(),
                      c10::DataPtr(memory.data(), new std::shared_ptr<Arena>(arena), release,
                                   c10::Device(c10::DeviceType::CPU)));
}

class ResultReader {
 public:
  ResultReader(const PythonArguments& arguments, const std::shared_ptr<Arena>& arena)
      : arguments_(arguments), arena_(arena) {}

  IValue read(const Json& value, const c10::TypePtr& wanted) const {
    const c10::TypePtr type = without_optional(wanted);
    if (type->kind() == TypeKind::TensorType) return tensor(value);
    if (const auto list = type->cast<c10::ListType>()) return read_list(value, *list);
    return type->kind() == TypeKind::AnyType ? any(value) : plain(value);
  }

 private:
  [[noreturn]] static void malformed(const std::string& problem) {
    throw Error(ErrorKind::kBadInput, fmt::format("{}: {}", kWhere, problem));
  }

  at::Tensor tensor(const Json& value) const {
    if (value.is_null()) return {};
    const JsonObject object(value, kWhere);
    const std::size_t index = object.size("storage");
    const Layout layout = layout_from_json(object.object("layout"));
    if (object.boolean_or("of_arguments", false)) {
      return view_storage(arguments_.storage(index), layout, kWhere);
    }
    if (arena_ == nullptr || index >= arena_->storage_count()) {
      object.fail("storage", "names no storage of the arena");
    }
    return view_storage(shared_storage(arena_, index), layout, kWhere);
  }

  // As the value itself tells: an operator of higher order gives what its graphs give.
  IValue any(const Json& value) const {
    if (value.is_object() && value.contains("storage")) return tensor(value);
    if (!value.is_array()) return plain(value);
    std::vector<IValue> elements;
    for (const Json& element : value) elements.push_back(any(element));
    return c10::ivalue::Tuple::create(std::move(elements));
  }

  IValue read_list(const Json& value, const c10::ListType& list) const {
    if (!value.is_array()) malformed("a list is expected");
    c10::impl::GenericList result(list.getElementType());
    for (const Json& element : value) result.push_back(read(element, list.getElementType()));
    return result;
  }

  static IValue plain(const Json& value) {
    const Argument argument = argument_from_json(value, kWhere);
    if (const auto* flag = std::get_if<bool>(&argument.value)) return *flag;
    if (const auto* integer = std::get_if<std::int64_t>(&argument.value)) return *integer;
    if (const auto* real = std::get_if<double>(&argument.value)) return *real;
    if (const auto* text = std::get_if<std::string>(&argument.value)) return *text;
    if (const auto* pair = std::get_if<Complex>(&argument.value)) {
      return c10::complex<double>(pair->real, pair->imag);
    }
    if (std::holds_alternative<None>(argument.value)) return {};
    malformed("a result that is no tensor, number or list");
  }

  const PythonArguments& arguments_;
  const std::shared_ptr<Arena>& arena_;
};

}  // namespace

std::size_t PythonArguments::index_of(const c10::Storage& storage) {
  const auto found = std::find_if(storages_.begin(), storages_.end(), [&](const auto& known) {
    return known.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl();
  });
  if (found != storages_.end()) return static_cast<std::size_t>(found - storages_.begin());
  storages_.push_back(storage);
  return storages_.size() - 1;
}

Json PythonArguments::write_tensor(const at::Tensor& tensor) {
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) return to_json(number(tensor.item()));
  if (tensor.layout() != at::kStrided) {
    throw Error(ErrorKind::kUnsupported, "a sparse tensor cannot be passed to Python");
  }
  const at::Tensor plain = tensor.resolve_conj().resolve_neg();
  Layout layout = layout_of(plain);
  layout.offset = plain.storage_offset();
  return {{"storage", index_of(plain.storage())}, {"layout", fuseproof::to_json(layout)}};
}

Json PythonArguments::write(const IValue& value, const c10::TypePtr& type) {
  if (value.isNone()) return {};
  if (value.isTensor()) return value.toTensor().defined() ? write_tensor(value.toTensor()) : Json();
  const c10::TypePtr own = without_optional(type);
  if (!value.isList()) return to_json(plain_argument(value, own->kind()));
  const auto list = own->cast<c10::ListType>();
  Json elements = Json::array();
  for (const IValue& element : value.toListRef()) {
    elements.push_back(write(element, list ? list->getElementType() : c10::AnyType::get()));
  }
  return elements;
}

Arena PythonArguments::to_arena() const {
  std::vector<StorageRequest> requests;
  for (const c10::Storage& storage : storages_) {
    requests.push_back({.size_bytes = storage.nbytes(),
                        .address_mod_64 = reinterpret_cast<std::uintptr_t>(storage.data()) % 64});
  }
  Arena arena = Arena::create(requests);
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    const std::span<std::byte> memory = arena.storage(i);
    if (!memory.empty()) std::memcpy(memory.data(), storages_[i].data(), memory.size());
  }
  return arena;
}

void PythonArguments::take_writes(const IValue& argument, const Arena& arena) {
  if (argument.isList()) {
    for (const IValue& element : argument.toListRef()) take_writes(element, arena);
  }
  if (!argument.isTensor() || !argument.toTensor().defined()) return;
  const c10::Storage& storage = argument.toTensor().storage();
  const std::span<const std::byte> memory = arena.storage(index_of(storage));
  if (!memory.empty()) std::memcpy(storage.mutable_data(), memory.data(), memory.size());
}

IValue python_result(const Json& value, const c10::TypePtr& type, const PythonArguments& arguments,
                     const std::shared_ptr<Arena>& arena) {
  return ResultReader(arguments, arena).read(value, type);
}

}  // namespace fuseproof
