#include "fragment/loop_body.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "fragment/boundary.h"
#include "fragment/loop_ops.h"
#include "fragment/nodes.h"

namespace fuseproof {
namespace {

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

std::vector<Size> sizes_of(const std::vector<LoopRange>& ranges) {
  std::vector<Size> sizes;
  for (const LoopRange& range : ranges) sizes.push_back(range.size);
  return sizes;
}

// A value of the loop body: a tensor, or a number that is the same at each point.
struct LoopValue {
  Argument operand;
  DType dtype = DType::kFloat32;
  std::vector<Size> shape = {};  // of a tensor

  bool is_tensor() const { return std::holds_alternative<NodeRef>(operand.value); }
  const std::string& node() const { return std::get<NodeRef>(operand.value).name; }
};

LoopValue tensor_value(std::string node, DType dtype, std::vector<Size> shape) {
  return {{NodeRef{std::move(node)}}, dtype, std::move(shape)};
}

const std::string& text_argument(const Node& node, std::size_t index) {
  const auto* text = index < node.arguments.size()
                         ? std::get_if<std::string>(&node.arguments[index].value)
                         : nullptr;
  if (text == nullptr) cannot_translate(fmt::format("{} without a name", node.target));
  return *text;
}

DType dtype_argument(const Node& node, std::size_t index) {
  const auto* constant = index < node.arguments.size()
                             ? std::get_if<TorchConstant>(&node.arguments[index].value)
                             : nullptr;
  const std::optional<DType> dtype =
      constant == nullptr ? std::nullopt : parse_dtype(constant->name);
  if (!dtype) cannot_translate(fmt::format("{} without a dtype", node.target));
  return *dtype;
}

// Blocks of their own are named "masked_subblock1", the indices of a gather "set_indirect0".
std::string untranslated(std::string_view operation) {
  if (operation.starts_with("masked_subblock")) return "a mask";
  if (operation.starts_with("set_indirect")) return "an index that is read from a tensor";
  return fmt::format("no translation of `{}`", operation);
}

bool can_be_stride(const Size& size) {
  return size.number() ? *size.number() >= 0 : size.is_surely_positive();
}

class Translator {
 public:
  Translator(const LoweredGraph& lowered, const RecordedLoopBody& body, std::string prefix,
             const LoadBuffer& load)
      : lowered_(lowered), body_(body), prefix_(std::move(prefix)), load_(load) {
    space_ = body.iteration;
    space_.insert(space_.end(), body.reduction.begin(), body.reduction.end());
  }

  LoopBodyCalls run() {
    for (const Node& node : body_.operations.nodes) translate(node);
    return std::move(result_);
  }

 private:
  void translate(const Node& node) {
    const std::string_view target = node.target;
    if (target == "getitem") return take_element(node);
    const std::string_view name = target.substr(target.find('.') + 1);
    if (name == "load") return load(node);
    if (name == "constant") return constant(node);
    if (name == "index_expr") return number(node);
    if (name == "to_dtype") return convert(node);
    if (name == "reduction") return reduce(node);
    if (name == "store" || name == "store_reduction") return store(node);
    const LoopOp* op = find_loop_op(name);
    if (op == nullptr) cannot_translate(untranslated(name));
    compute(node, *op);
  }

  // The layout of an index over some ranges, relative to the buffer's first element.
  SymbolicLayout affine(const Node& node, const std::vector<LoopRange>& ranges) const {
    const auto* index =
        node.arguments.size() > 1 ? std::get_if<Symbol>(&node.arguments[1].value) : nullptr;
    const std::string& buffer = text_argument(node, 0);
    const std::optional<SymbolicLayout>& whole = lowered_.buffer_layout(buffer);
    if (index == nullptr || !whole) cannot_translate(fmt::format("{} has no layout", buffer));
    SymbolicLayout view{whole->dtype, sizes_of(ranges), {}, Size::parse(index->expression)};
    for (const LoopRange& range : ranges) {
      std::optional<Size::Linear> linear = view.offset.linear_in(range.variable);
      if (!linear || !can_be_stride(linear->coefficient)) not_affine(*index);
      view.strides.push_back(std::move(linear->coefficient));
      view.offset = std::move(linear->rest);
    }
    view = relative_view(std::move(view), whole);
    std::set<std::string> symbols;
    collect_symbols(view, symbols);
    if (depend_on_point(symbols) || !can_be_stride(view.offset)) not_affine(*index);
    return view;
  }

  bool depend_on_point(const std::set<std::string>& symbols) const {
    return std::any_of(space_.begin(), space_.end(),
                       [&](const LoopRange& range) { return symbols.contains(range.variable); });
  }

  [[noreturn]] static void not_affine(const Symbol& index) {
    cannot_translate(fmt::format("an index that is not affine, {}", index.expression));
  }

  void load(const Node& node) {
    const SymbolicLayout view = affine(node, space_);
    values_[node.name] = tensor_value(load_(text_argument(node, 0), view), view.dtype, view.shape);
  }

  void constant(const Node& node) {
    const DType dtype = dtype_argument(node, 1);
    Argument number = node.arguments[0];
    const auto* integer = std::get_if<std::int64_t>(&number.value);
    const bool is_float = dtype_class(dtype) == DTypeClass::kFloat;
    if (is_float && integer != nullptr) {
      number = {static_cast<double>(*integer)};
    } else if (dtype == DType::kBool && integer != nullptr) {
      number = {*integer != 0};
    }
    const bool fits = is_float                ? std::holds_alternative<double>(number.value)
                      : dtype == DType::kBool ? std::holds_alternative<bool>(number.value)
                                              : std::holds_alternative<std::int64_t>(number.value);
    if (!fits) cannot_translate(fmt::format("a constant that is no {}", dtype_name(dtype)));
    values_[node.name] = {std::move(number), is_half(dtype) ? DType::kFloat32 : dtype};
  }

  // A number that sizes make.
  void number(const Node& node) {
    const auto* expression =
        node.arguments.empty() ? nullptr : std::get_if<Symbol>(&node.arguments[0].value);
    const DType dtype = dtype_argument(node, 1);
    if (expression == nullptr || !admits(LoopOpDomain::kNumber, dtype)) {
      cannot_translate(fmt::format("an index as a {}", dtype_name(dtype)));
    }
    const Size size = Size::parse(expression->expression);
    std::set<std::string> symbols;
    size.collect_symbols(symbols);
    if (depend_on_point(symbols)) cannot_translate("an index as a value");
    const bool is_float = dtype_class(dtype) == DTypeClass::kFloat;
    values_[node.name] = {is_float ? float_argument(size) : size_argument(size),
                          is_half(dtype) ? DType::kFloat32 : dtype};
  }

  void convert(const Node& node) {
    values_[node.name] =
        converted(node, as_tensor(node, operand(node, 0)), dtype_argument(node, 1));
  }

  void compute(const Node& node, const LoopOp& op) {
    const std::size_t first = op.form == LoopOpForm::kSelect ? 1 : 0;
    const bool is_one = op.form == LoopOpForm::kUnary || op.form == LoopOpForm::kSquare;
    const std::size_t count = is_one ? 1 : first + 2;
    if (node.arguments.size() != count || !node.keywords.empty()) {
      cannot_translate(fmt::format("{} with other arguments than usual", node.target));
    }
    std::vector<LoopValue> operands;
    for (std::size_t i = 0; i < count; ++i) operands.push_back(compute_operand(node, i));
    make_tensors(node, operands, first);
    const DType dtype = operands.back().dtype;
    for (std::size_t i = 0; i < count; ++i) {
      const DType expected = i < first ? DType::kBool : dtype;
      if (operands[i].dtype != expected || (i >= first && !admits(op.domain, dtype))) {
        cannot_translate(fmt::format("{} of {}", node.target, dtype_name(operands[i].dtype)));
      }
    }
    std::vector<Argument> arguments;
    for (const LoopValue& value : operands) arguments.push_back(value.operand);
    if (op.form == LoopOpForm::kSquare) arguments.push_back(arguments.front());
    values_[node.name] = call(name_of(node), op.target, std::move(arguments),
                              op.gives_bool ? DType::kBool : dtype, common_shape(node, operands));
  }

  // At least one of the operands has to be a tensor, and where() takes its condition as one.
  void make_tensors(const Node& node, std::vector<LoopValue>& operands, std::size_t conditions) {
    for (std::size_t i = 0; i < conditions; ++i) operands[i] = as_tensor(node, operands[i]);
    const bool has_tensor =
        std::any_of(operands.begin() + static_cast<std::ptrdiff_t>(conditions), operands.end(),
                    [](const LoopValue& value) { return value.is_tensor(); });
    if (!has_tensor) operands[conditions] = as_tensor(node, operands[conditions]);
  }

  static std::vector<Size> common_shape(const Node& node, const std::vector<LoopValue>& operands) {
    const std::vector<Size>* shape = nullptr;
    for (const LoopValue& value : operands) {
      if (!value.is_tensor()) continue;
      if (shape != nullptr && *shape != value.shape) {
        cannot_translate(
            fmt::format("{} of values inside and outside of a reduction", node.target));
      }
      shape = &value.shape;
    }
    return *shape;
  }

  void reduce(const Node& node) {
    const std::string& kind = text_argument(node, 2);
    const LoopValue value = compute_operand(node, 3);
    const DType declared = dtype_argument(node, 0);
    const DType dtype = is_half(declared) ? DType::kFloat32 : declared;
    const LoopValue tensor = as_tensor(node, value);
    if (body_.reduction.empty() || tensor.dtype != dtype || tensor.shape != sizes_of(space_)) {
      cannot_translate(
          fmt::format("a reduction of {} to {}", dtype_name(tensor.dtype), dtype_name(declared)));
    }
    if (kind == "welford_reduce") return reduce_moments(node, tensor);
    const bool is_number = admits(LoopOpDomain::kNumber, dtype);
    if (kind == "sum" && is_number) {
      values_[node.name] = sum(name_of(node), tensor);
    } else if ((kind == "max" || kind == "min") && is_number) {
      values_[node.name] =
          reduced(name_of(node), kind == "max" ? "aten.amax.default" : "aten.amin.default", tensor);
    } else if (kind == "any" && dtype == DType::kBool) {
      values_[node.name] = reduced(name_of(node), "aten.any.dims", tensor);
    } else {
      cannot_translate(fmt::format("the reduction {} of {}", kind, dtype_name(dtype)));
    }
  }

  // Mean, sum of squared distances from it, and count.
  void reduce_moments(const Node& node, const LoopValue& value) {
    if (dtype_class(value.dtype) != DTypeClass::kFloat)
      cannot_translate("the variance of integers");
    const std::string name = name_of(node);
    const LoopValue variance = reduced(name, "aten.var_mean.correction", value);
    Node& moments = result_.nodes.back();
    moments.keywords = {{"correction", {std::int64_t{0}}}};
    moments.values.push_back(moments.values[0]);
    moments.is_tuple = true;
    const auto moment = [&](std::string_view part, std::int64_t index) {
      return call(fmt::format("{}.{}", name, part), "getitem", {variance.operand, {index}},
                  value.dtype, variance.shape);
    };
    const LoopValue mean = moment("mean", 1);
    const Argument count = float_argument(element_count_of(body_.reduction));
    const LoopValue squares = call(name + ".m2", "aten.mul.Tensor",
                                   {moment("variance", 0).operand, count}, value.dtype, mean.shape);
    tuples_[node.name] = {mean, squares, {count, value.dtype}};
  }

  // Of a symbolic number it is the reference that makes a float.
  static Argument float_argument(const Size& size) {
    const std::optional<std::int64_t> number = size.number();
    return number ? Argument{static_cast<double>(*number)} : size_argument(size);
  }

  LoopValue sum(const std::string& name, const LoopValue& value) {
    LoopValue result = reduced(name, "aten.sum.dim_IntList", value);
    if (dtype_class(value.dtype) == DTypeClass::kInteger) {  // the usual result is an int64
      result_.nodes.back().keywords = {{"dtype", dtype_constant(value.dtype)}};
    }
    return result;
  }

  LoopValue reduced(const std::string& name, std::string_view target, const LoopValue& value) {
    ArgumentList dims;
    for (std::size_t dim = body_.iteration.size(); dim < space_.size(); ++dim) {
      dims.push_back({static_cast<std::int64_t>(dim)});
    }
    return call(name, target, {value.operand, {std::move(dims)}}, value.dtype,
                sizes_of(body_.iteration));
  }

  void take_element(const Node& node) {
    const auto* tuple =
        node.arguments.empty() ? nullptr : std::get_if<NodeRef>(&node.arguments[0].value);
    const auto* index =
        node.arguments.size() < 2 ? nullptr : std::get_if<std::int64_t>(&node.arguments[1].value);
    const auto found = tuple == nullptr ? tuples_.end() : tuples_.find(tuple->name);
    const bool is_there = index != nullptr && found != tuples_.end() && *index >= 0 &&
                          *index < std::ssize(found->second);
    if (!is_there) cannot_translate("an element of no tuple");
    values_[node.name] = found->second[static_cast<std::size_t>(*index)];
  }

  void store(const Node& node) {
    const std::string& buffer = text_argument(node, 0);
    const bool has_mode =
        (node.arguments.size() > 3 && !std::holds_alternative<None>(node.arguments[3].value)) ||
        !node.keywords.empty();
    if (has_mode) cannot_translate(fmt::format("a store that adds to {}", buffer));
    SymbolicLayout layout = affine(node, body_.iteration);
    const LoopValue value = stored(node, operand(node, 2), layout);
    if (!is_injective(layout) ||
        element_count(layout) != element_count(*lowered_.buffer_layout(buffer))) {
      cannot_translate(fmt::format("a store that does not fill {}", buffer));
    }
    result_.stores.push_back({buffer, {value.node(), std::move(layout)}});
  }

  // Stores convert between float dtypes on their own account.
  LoopValue stored(const Node& node, const LoopValue& value, const SymbolicLayout& layout) {
    const bool are_floats = dtype_class(value.dtype) == DTypeClass::kFloat &&
                            dtype_class(layout.dtype) == DTypeClass::kFloat;
    const bool fits = value.dtype == layout.dtype ||
                      (are_floats && (is_half(value.dtype) || is_half(layout.dtype)));
    const LoopValue tensor = as_tensor(node, value);
    if (!fits || tensor.shape != layout.shape) {
      cannot_translate(
          fmt::format("a store of {}, {}", dtype_name(value.dtype), to_string(layout)));
    }
    return converted(node, tensor, layout.dtype);
  }

  const LoopValue& operand(const Node& node, std::size_t index) const {
    const auto* ref = index < node.arguments.size()
                          ? std::get_if<NodeRef>(&node.arguments[index].value)
                          : nullptr;
    const auto found = ref == nullptr ? values_.end() : values_.find(ref->name);
    if (found == values_.end()) cannot_translate(fmt::format("an operand of {}", node.target));
    return found->second;
  }

  // As operations compute with it.
  LoopValue compute_operand(const Node& node, std::size_t index) {
    const LoopValue& value = operand(node, index);
    return is_half(value.dtype) ? converted(node, value, DType::kFloat32) : value;
  }

  LoopValue converted(const Node& node, const LoopValue& value, DType dtype) {
    if (value.dtype == dtype) return value;
    return call(helper_name(node), "prims.convert_element_type.default",
                {value.operand, dtype_constant(dtype)}, dtype, value.shape);
  }

  LoopValue as_tensor(const Node& node, const LoopValue& value) {
    if (value.is_tensor()) return value;
    const std::vector<Size> shape =
        node.target == "ops.store_reduction" ? sizes_of(body_.iteration) : sizes_of(space_);
    LoopValue tensor = call(helper_name(node), "aten.full.default",
                            {size_list(shape), value.operand}, value.dtype, shape);
    result_.nodes.back().keywords = {{"dtype", dtype_constant(value.dtype)},
                                     {"device", {TorchConstant{"device", "cpu"}}}};
    return tensor;
  }

  LoopValue call(std::string name, std::string_view target, std::vector<Argument> arguments,
                 DType dtype, const std::vector<Size>& shape) {
    result_.nodes.push_back(tensor_call(name, target, std::move(arguments), dtype, shape));
    return tensor_value(std::move(name), dtype, shape);
  }

  std::string name_of(const Node& node) const { return fmt::format("{}.{}", prefix_, node.name); }
  // Of a call that prepares the operands of a node.
  std::string helper_name(const Node& node) const {
    return fmt::format("{}.{}", name_of(node), result_.nodes.size());
  }

  static Size element_count_of(const std::vector<LoopRange>& ranges) {
    Size count = 1;
    for (const LoopRange& range : ranges) count = count * range.size;
    return count;
  }

  const LoweredGraph& lowered_;
  const RecordedLoopBody& body_;
  std::string prefix_;
  const LoadBuffer& load_;
  std::vector<LoopRange> space_;
  std::map<std::string, LoopValue> values_;
  std::map<std::string, std::vector<LoopValue>> tuples_;
  LoopBodyCalls result_;
};

}  // namespace

void cannot_translate(const std::string& reason) { throw Error(ErrorKind::kUnsupported, reason); }

LoopBodyCalls translate_loop_body(const LoweredGraph& lowered, const RecordedLoopBody& body,
                                  const std::string& prefix, const LoadBuffer& load) {
  if (!body.problem.empty()) cannot_translate(body.problem);
  return Translator(lowered, body, prefix, load).run();
}

}  // namespace fuseproof
