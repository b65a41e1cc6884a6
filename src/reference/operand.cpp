#include "reference/operand.h"

#include <algorithm>

#include <ATen/ScalarOps.h>
#include <fmt/format.h>

#include "base/error.h"
#include "reference/tensors.h"

namespace fuseproof {
namespace {

using c10::IValue;
using c10::TypeKind;

[[noreturn]] void mismatch(const c10::Argument& parameter, const Node& node) {
  throw Error(
      ErrorKind::kBadInput,
      fmt::format("node `{}` ({}): what is given for `{}` does not fit its type {}: {}", node.name,
                  node.target, parameter.name(), parameter.real_type()->str(), to_string(node)));
}

struct Unwrapped {
  c10::TypePtr type;
  bool is_optional = false;
};

Unwrapped unwrap(const c10::TypePtr& type) {
  if (const auto optional = type->cast<c10::OptionalType>()) {
    return {optional->getElementType(), true};
  }
  return {type, false};
}

bool is_integer(TypeKind type) { return type == TypeKind::IntType || type == TypeKind::SymIntType; }

IValue wrapped_number(const at::Scalar& number) {
  at::Tensor tensor = at::scalar_to_tensor(number);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

std::optional<at::Scalar> number_of(const Argument& argument) {
  if (const auto* value = std::get_if<bool>(&argument.value)) return at::Scalar(*value);
  if (const auto* value = std::get_if<std::int64_t>(&argument.value)) return at::Scalar(*value);
  if (const auto* value = std::get_if<double>(&argument.value)) return at::Scalar(*value);
  if (const auto* value = std::get_if<Complex>(&argument.value)) {
    return at::Scalar(c10::complex<double>(value->real, value->imag));
  }
  return std::nullopt;
}

IValue scalar_value(const at::Scalar& number) {
  if (number.isBoolean()) return number.toBool();
  if (number.isIntegral(false)) return number.toLong();
  if (number.isComplex()) return number.toComplexDouble();
  return number.toDouble();
}

// A number as the schema wants it; nothing when Python would refuse it too.
std::optional<IValue> number_as(const at::Scalar& number, TypeKind type) {
  if (type == TypeKind::TensorType) return wrapped_number(number);
  if (type == TypeKind::NumberType || type == TypeKind::AnyType) return scalar_value(number);
  if (is_integer(type) && number.isIntegral(true)) return number.to<std::int64_t>();
  const bool is_float = type == TypeKind::FloatType || type == TypeKind::SymFloatType;
  if (is_float && !number.isComplex()) return number.toDouble();
  const bool is_bool = type == TypeKind::BoolType || type == TypeKind::SymBoolType;
  if (is_bool && number.isIntegral(true)) return number.to<std::int64_t>() != 0;
  if (type == TypeKind::ComplexType) return number.toComplexDouble();
  const bool is_enumerator = type == TypeKind::ScalarTypeType || type == TypeKind::LayoutType ||
                             type == TypeKind::MemoryFormatType;
  if (is_enumerator && number.isIntegral(false)) return number.toLong();
  return std::nullopt;
}

std::optional<IValue> constant_as(const TorchConstant& constant, TypeKind type) {
  if (constant.kind == "device") {
    if (type != TypeKind::DeviceObjType) return std::nullopt;
    return IValue(cpu_device(constant.name));
  }
  if (constant.kind == "dtype" && type == TypeKind::ScalarTypeType) {
    return IValue(static_cast<std::int64_t>(scalar_type(constant.name)));
  }
  if (constant.kind == "layout" && type == TypeKind::LayoutType) {
    return IValue(static_cast<std::int64_t>(layout_kind(constant.name)));
  }
  if (constant.kind == "memory_format" && type == TypeKind::MemoryFormatType) {
    return IValue(static_cast<std::int64_t>(memory_format(constant.name)));
  }
  return std::nullopt;
}

std::optional<IValue> literal_as(const Argument& argument, TypeKind type) {
  if (const auto number = number_of(argument)) return number_as(*number, type);
  if (const auto* constant = std::get_if<TorchConstant>(&argument.value)) {
    return constant_as(*constant, type);
  }
  if (const auto* text = std::get_if<std::string>(&argument.value)) {
    if (type == TypeKind::StringType) return IValue(*text);
    if (type == TypeKind::DeviceObjType) return IValue(cpu_device(*text));
  }
  return std::nullopt;
}

Operand constant_operand(IValue value, TypeKind type) {
  Operand operand;
  operand.type = type;
  operand.constant = std::move(value);
  return operand;
}

class OperandMaker {
 public:
  OperandMaker(const c10::Argument& parameter, const Node& node, SlotTable& slots)
      : parameter_(parameter), node_(node), slots_(slots) {}

  Operand make(const Argument& argument, const c10::TypePtr& wanted) {
    const auto [type, is_optional] = unwrap(wanted);
    const TypeKind kind = type->kind();
    if (std::holds_alternative<None>(argument.value)) {
      if (!is_optional && kind != TypeKind::GeneratorType && kind != TypeKind::AnyType) fail();
      return constant_operand({}, kind);
    }
    if (const auto* ref = std::get_if<NodeRef>(&argument.value)) return slot(node_slot(*ref), kind);
    if (const auto* symbol = std::get_if<Symbol>(&argument.value)) {
      const bool is_list = kind == TypeKind::ListType;
      if (!is_list) return slot(slots_.slot_of(*symbol), kind);
    }
    if (const auto list = type->cast<c10::ListType>()) return make_list(argument, *list);
    std::optional<IValue> value = literal_as(argument, kind);
    if (!value) fail();
    return constant_operand(*std::move(value), kind);
  }

 private:
  [[noreturn]] void fail() const { mismatch(parameter_, node_); }

  static Operand slot(int index, TypeKind type) {
    Operand operand;
    operand.kind = Operand::Kind::kSlot;
    operand.type = type;
    operand.slot = index;
    return operand;
  }

  int node_slot(const NodeRef& ref) const {
    const auto found = slots_.nodes.find(ref.name);
    if (found != slots_.nodes.end()) return found->second;
    throw Error(ErrorKind::kBadInput,
                fmt::format("node `{}` ({}) uses `{}`, which is neither computed before it nor "
                            "bound to an argument of the kernel",
                            node_.name, node_.target, ref.name));
  }

  Operand make_list(const Argument& argument, const c10::ListType& list) {
    Operand operand;
    operand.kind = Operand::Kind::kList;
    operand.type = TypeKind::ListType;
    const auto [element, has_optional_elements] = unwrap(list.getElementType());
    operand.element_type = element->kind();
    operand.has_optional_elements = has_optional_elements;
    if (const auto* arguments = std::get_if<ArgumentList>(&argument.value)) {
      for (const Argument& entry : *arguments) {
        operand.elements.push_back(make(entry, list.getElementType()));
      }
    } else {
      // "int[2] stride" takes one number for both.
      if (!parameter_.N()) fail();
      operand.elements.assign(*parameter_.N(), make(argument, list.getElementType()));
    }
    return folded(std::move(operand));
  }

  // A list of constants is a constant.
  static Operand folded(Operand operand) {
    const bool is_constant = std::all_of(
        operand.elements.begin(), operand.elements.end(),
        [](const Operand& element) { return element.kind == Operand::Kind::kConstant; });
    const bool holds_tensors = operand.element_type == TypeKind::TensorType;
    if (!is_constant || (holds_tensors && !operand.elements.empty())) return operand;
    return constant_operand(load(operand, {}, Widening::kNone), TypeKind::ListType);
  }

  const c10::Argument& parameter_;
  const Node& node_;
  SlotTable& slots_;
};

// A value of another node where the schema wants something else than what it is: a size where a
// tensor, a float or a number stands.
IValue coerced(const IValue& value, TypeKind type) {
  if (value.isScalar() && type == TypeKind::TensorType) return wrapped_number(value.toScalar());
  if (value.isInt() && type == TypeKind::FloatType) return static_cast<double>(value.toInt());
  return value;
}

template <typename T, typename Get>
IValue list_of(const Operand& operand, const std::vector<IValue>& values, Get&& get) {
  c10::List<T> list;
  list.reserve(operand.elements.size());
  for (const Operand& element : operand.elements) {
    list.push_back(get(load(element, values, Widening::kNone)));
  }
  return list;
}

IValue load_list(const Operand& operand, const std::vector<IValue>& values) {
  const auto load_as = [&]<typename T>(std::type_identity<T>) {
    return list_of<T>(operand, values, [](IValue value) { return std::move(value).to<T>(); });
  };
  switch (operand.element_type) {
    case TypeKind::TensorType:
      if (operand.has_optional_elements) {
        return load_as(std::type_identity<std::optional<at::Tensor>>());
      }
      return load_as(std::type_identity<at::Tensor>());
    case TypeKind::FloatType: return load_as(std::type_identity<double>());
    case TypeKind::BoolType: return load_as(std::type_identity<bool>());
    case TypeKind::StringType: return load_as(std::type_identity<std::string>());
    case TypeKind::NumberType:
      return list_of<at::Scalar>(operand, values,
                                 [](const IValue& value) { return value.toScalar(); });
    default: return load_as(std::type_identity<std::int64_t>());
  }
}

}  // namespace

int SlotTable::slot_of(const Symbol& symbol) {
  for (const auto& [known, slot] : symbols) {
    if (known == symbol) return slot;
  }
  symbols.emplace_back(symbol, count);
  return count++;
}

Operand make_operand(const Argument& argument, const c10::Argument& parameter, const Node& node,
                     SlotTable& slots) {
  return OperandMaker(parameter, node, slots).make(argument, parameter.real_type());
}

Operand default_operand(const c10::Argument& parameter, const Node& node) {
  if (!parameter.default_value()) {
    throw Error(
        ErrorKind::kBadInput,
        fmt::format("node `{}`: {} needs its argument `{}`, which the graph does not give: {}",
                    node.name, node.target, parameter.name(), to_string(node)));
  }
  return constant_operand(*parameter.default_value(), unwrap(parameter.real_type()).type->kind());
}

IValue load(const Operand& operand, const std::vector<IValue>& values, Widening widening) {
  switch (operand.kind) {
    case Operand::Kind::kConstant:
      if (operand.type != TypeKind::ScalarTypeType || !operand.constant.isInt()) {
        return operand.constant;
      }
      return static_cast<std::int64_t>(
          widened(static_cast<at::ScalarType>(operand.constant.toInt()), widening));
    case Operand::Kind::kSlot: {
      const IValue& value = values[operand.slot];
      return value.isTensor() ? value : coerced(value, operand.type);
    }
    case Operand::Kind::kList: return load_list(operand, values);
  }
  return {};
}

}  // namespace fuseproof
