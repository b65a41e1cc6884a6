#include "reference/number_functions.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <ATen/core/List.h>
#include <c10/core/Scalar.h>

#include "base/expression_value.h"
#include "reference/boxing.h"

namespace fuseproof {
namespace {

enum class Result : std::uint8_t { kNumber, kTruth };

// A function as an expression (base/expression.h) in `a` and `b`.
struct NumberFunction {
  std::string_view target;
  std::string_view integers;
  std::string_view floats = {};  // where it is another one for floats
  std::string_view truths = {};  // where it is another one for two bools
  Result result = Result::kNumber;
};

constexpr NumberFunction kUnary[] = {
    {"python:_operator.neg", "-a"},
    {"python:torch.sym_float", "ToFloat(a)"},
    {"python:torch.sym_int", "TruncToInt(a)"},
    {"python:torch.sym_not", "Not(a)", "", "", Result::kTruth},
};

constexpr NumberFunction kBinary[] = {
    {"python:_operator.add", "a + b"},
    {"python:_operator.sub", "a - b"},
    {"python:_operator.mul", "a * b"},
    {"python:_operator.truediv", "IntTrueDiv(a, b)", "FloatTrueDiv(a, b)"},
    {"python:_operator.floordiv", "FloorDiv(a, b)"},
    {"python:_operator.mod", "PythonMod(a, b)"},
    {"python:_operator.pow", "PowByNatural(a, b)", "FloatPow(a, b)"},
    {"python:torch.sym_max", "Max(a, b)"},
    {"python:torch.sym_min", "Min(a, b)"},
    {"python:_operator.eq", "Eq(a, b)", "", "", Result::kTruth},
    {"python:_operator.ne", "Ne(a, b)", "", "", Result::kTruth},
    {"python:_operator.lt", "a < b", "", "", Result::kTruth},
    {"python:_operator.le", "a <= b", "", "", Result::kTruth},
    {"python:_operator.gt", "a > b", "", "", Result::kTruth},
    {"python:_operator.ge", "a >= b", "", "", Result::kTruth},
    {"python:_operator.and_", "BitwiseFn_bitwise_and(a, b)", "", "And(a, b)"},
    {"python:_operator.or_", "BitwiseFn_bitwise_or(a, b)", "", "Or(a, b)"},
    {"python:_operator.xor", "BitwiseFn_bitwise_xor(a, b)", "", "Ne(a, b)"},
};

Number number_of(const at::Scalar& scalar) {
  if (scalar.isFloatingPoint()) return scalar.toDouble();
  return scalar.to<std::int64_t>();
}

enum class Operands : std::uint8_t { kNumbers, kTruths };

at::Scalar value_of(const NumberFunction& function, const SymbolValues& operands,
                    Operands kind = Operands::kNumbers) {
  const bool has_floats = std::ranges::any_of(
      operands, [](const auto& operand) { return std::holds_alternative<double>(operand.second); });
  const bool is_of_floats = has_floats && !function.floats.empty();
  const bool is_of_truths = kind == Operands::kTruths && !function.truths.empty();
  const std::string_view expression = is_of_truths   ? function.truths
                                      : is_of_floats ? function.floats
                                                     : function.integers;
  const Number value = evaluate(std::string(expression), operands);
  if (is_of_truths || function.result == Result::kTruth) return std::get<std::int64_t>(value) != 0;
  return std::visit([](auto number) { return at::Scalar(number); }, value);
}

template <std::size_t kRow>
at::Scalar unary(const at::Scalar& a) {
  return value_of(kUnary[kRow], {{"a", number_of(a)}});
}

template <std::size_t kRow>
at::Scalar binary(const at::Scalar& a, const at::Scalar& b) {
  const bool are_truths = a.isBoolean() && b.isBoolean();
  return value_of(kBinary[kRow], {{"a", number_of(a)}, {"b", number_of(b)}},
                  are_truths ? Operands::kTruths : Operands::kNumbers);
}

constexpr NumberFunction kAdd = kBinary[0];

at::Scalar sum(const c10::List<at::Scalar>& values) {
  at::Scalar total = 0;
  for (const at::Scalar value : values) {
    total = value_of(kAdd, {{"a", number_of(total)}, {"b", number_of(value)}});
  }
  return total;
}

constexpr std::string_view kSum = "python:torch.sym_sum";
constexpr Prim kSumPrim = {.schema = "number(Scalar[] values) -> Scalar", .function = boxed<sum>};

template <std::size_t... kRows>
constexpr std::array<Prim, sizeof...(kRows)> unary_prims(std::index_sequence<kRows...>) {
  return {Prim{.schema = "number(Scalar a) -> Scalar", .function = boxed<unary<kRows>>}...};
}

template <std::size_t... kRows>
constexpr std::array<Prim, sizeof...(kRows)> binary_prims(std::index_sequence<kRows...>) {
  return {
      Prim{.schema = "number(Scalar a, Scalar b) -> Scalar", .function = boxed<binary<kRows>>}...};
}

constexpr auto kUnaryPrims = unary_prims(std::make_index_sequence<std::size(kUnary)>());
constexpr auto kBinaryPrims = binary_prims(std::make_index_sequence<std::size(kBinary)>());

template <std::size_t kCount>
const Prim* find(const NumberFunction (&functions)[kCount], const std::array<Prim, kCount>& prims,
                 std::string_view target) {
  const auto found = std::ranges::find(functions, target, &NumberFunction::target);
  return found != std::end(functions) ? &prims[found - std::begin(functions)] : nullptr;
}

}  // namespace

const Prim* find_number_function(std::string_view target) {
  if (target == kSum) return &kSumPrim;
  const Prim* unary = find(kUnary, kUnaryPrims, target);
  return unary != nullptr ? unary : find(kBinary, kBinaryPrims, target);
}

}  // namespace fuseproof
