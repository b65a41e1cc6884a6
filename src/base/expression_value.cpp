#include "base/expression_value.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

// An exact fraction (sympy writes "s0**2/2 + s0/2" for an integer), or a float.
struct Value {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;  // positive, in lowest terms
  double number = 0;
  bool is_float = false;

  bool is_integer() const { return !is_float && denominator == 1; }
  double as_double() const {
    return is_float ? number : static_cast<double>(numerator) / static_cast<double>(denominator);
  }
};

class Evaluator {
 public:
  Evaluator(const std::string& text, const SymbolValues& symbols)
      : text_(text), symbols_(symbols) {}

  Value value(const Expression& expression) const {
    switch (expression.kind) {
      case Expression::Kind::kInteger: return integer(expression.integer);
      case Expression::Kind::kFloat: return real(expression.number);
      case Expression::Kind::kSymbol: return symbol(expression.name);
      case Expression::Kind::kFunction: break;
    }
    const std::string& name = expression.name;
    const std::vector<Expression>& operands = expression.operands;
    // The branches that are not taken may have no value.
    if (name == "Where" && operands.size() == 3) {
      return value(is_true(value(operands[0])) ? operands[1] : operands[2]);
    }
    if (name == "Piecewise") return piecewise(operands);
    std::vector<Value> values;
    for (const Expression& operand : operands) values.push_back(value(operand));
    if (values.size() == 2) return binary(name, values[0], values[1]);
    if (values.size() == 1) return unary(name, values[0]);
    return several(name, values);
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::kBadInput, fmt::format("the symbolic number `{}` {}", text_, problem));
  }

 private:
  [[noreturn]] void unknown(const std::string& name, std::size_t count) const {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("the symbolic number `{}` holds {} of {} operands, which is not known",
                            text_, name, count));
  }

  static Value integer(std::int64_t value) { return {.numerator = value}; }
  static Value truth(bool value) { return integer(value ? 1 : 0); }
  static Value real(double value) { return {.number = value, .is_float = true}; }

  Value symbol(const std::string& name) const {
    const auto found = symbols_.find(name);
    if (found == symbols_.end()) fail("needs `" + name + "`, which the call record does not have");
    if (const auto* whole = std::get_if<std::int64_t>(&found->second)) return integer(*whole);
    return real(std::get<double>(found->second));
  }

  static bool is_true(const Value& value) { return value.as_double() != 0; }

  Value piecewise(const std::vector<Expression>& cases) const {
    for (const Expression& entry : cases) {
      if (entry.name != "Tuple" || entry.operands.size() != 2) unknown("Piecewise", cases.size());
      if (is_true(value(entry.operands[1]))) return value(entry.operands[0]);
    }
    fail("has no case for these sizes");
  }

  std::int64_t whole(const Value& value) const {
    if (!value.is_integer()) fail("needs an integer where there is none");
    return value.numerator;
  }

  Value fraction(std::int64_t numerator, std::int64_t denominator) const {
    if (denominator == 0) fail("divides by zero");
    if (denominator < 0) {
      numerator = product(numerator, -1);
      denominator = product(denominator, -1);
    }
    const std::int64_t divisor = std::gcd(numerator, denominator);
    return {.numerator = numerator / divisor, .denominator = denominator / divisor};
  }

  std::int64_t product(std::int64_t a, std::int64_t b) const {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) fail("overflows 64 bits");
    return result;
  }

  std::int64_t total(std::int64_t a, std::int64_t b) const {
    std::int64_t result = 0;
    if (__builtin_add_overflow(a, b, &result)) fail("overflows 64 bits");
    return result;
  }

  // Python's: towards minus infinity.
  std::int64_t floor_divided(std::int64_t a, std::int64_t b) const {
    if (b == 0) fail("divides by zero");
    if (b == -1) return product(a, -1);
    const std::int64_t quotient = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
  }

  std::int64_t modulo(std::int64_t a, std::int64_t b) const {
    return b == -1 ? 0 : a - floor_divided(a, b) * b;
  }

  Value add(const Value& a, const Value& b) const {
    if (a.is_float || b.is_float) return real(a.as_double() + b.as_double());
    return fraction(total(product(a.numerator, b.denominator), product(b.numerator, a.denominator)),
                    product(a.denominator, b.denominator));
  }

  Value multiply(const Value& a, const Value& b) const {
    if (a.is_float || b.is_float) return real(a.as_double() * b.as_double());
    return fraction(product(a.numerator, b.numerator), product(a.denominator, b.denominator));
  }

  Value divide(const Value& a, const Value& b) const {
    if (a.is_float || b.is_float) return real(a.as_double() / b.as_double());
    return fraction(product(a.numerator, b.denominator), product(a.denominator, b.numerator));
  }

  // Exact only while both numbers are; Python's own division is exact beyond.
  Value true_divide(std::int64_t a, std::int64_t b) const {
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    if (b == 0) fail("divides by zero");
    if (a > kExact || a < -kExact || b > kExact || b < -kExact) fail("divides beyond 53 bits");
    return real(static_cast<double>(a) / static_cast<double>(b));
  }

  static Value float_power(const Value& base, const Value& exponent) {
    return real(std::pow(base.as_double(), exponent.as_double()));
  }

  Value raise(const Value& base, const Value& exponent) const {
    if (base.is_float || !exponent.is_integer()) return float_power(base, exponent);
    if (exponent.numerator < 0) {
      return divide(integer(1), raise(base, integer(product(exponent.numerator, -1))));
    }
    Value result = integer(1);
    Value factor = base;
    for (std::int64_t rest = exponent.numerator; rest > 0; rest /= 2) {
      if (rest % 2 == 1) result = multiply(result, factor);
      if (rest > 1) factor = multiply(factor, factor);
    }
    return result;
  }

  // Exact for integers, which doubles are not beyond 53 bits.
  bool is_less(const Value& a, const Value& b) const {
    if (a.is_integer() && b.is_integer()) return a.numerator < b.numerator;
    return a.as_double() < b.as_double();
  }
  bool is_equal(const Value& a, const Value& b) const {
    if (a.is_integer() && b.is_integer()) return a.numerator == b.numerator;
    return a.as_double() == b.as_double();
  }

  Value binary(const std::string& name, const Value& a, const Value& b) const {
    if (name == "Add") return add(a, b);
    if (name == "Mul") return multiply(a, b);
    if (name == "Div") return divide(a, b);
    if (name == "Pow" || name == "PowByNatural") return raise(a, b);
    if (name == "FloatPow") return float_power(a, b);
    if (name == "FloatTrueDiv") return real(a.as_double() / b.as_double());
    if (name == "IntTrueDiv") return true_divide(whole(a), whole(b));
    if (name == "Max") return is_less(a, b) ? b : a;
    if (name == "Min") return is_less(b, a) ? b : a;
    if (name == "And") return truth(is_true(a) && is_true(b));
    if (name == "Or") return truth(is_true(a) || is_true(b));
    if (name == "Lt") return truth(is_less(a, b));
    if (name == "Le") return truth(is_less(a, b) || is_equal(a, b));
    if (name == "Gt") return truth(is_less(b, a));
    if (name == "Ge") return truth(is_less(b, a) || is_equal(a, b));
    if (name == "Eq") return truth(is_equal(a, b));
    if (name == "Ne") return truth(!is_equal(a, b));
    return of_integers(name, a, b);
  }

  Value of_integers(const std::string& name, const Value& a, const Value& b) const {
    if (name == "FloorDiv" || name == "CleanDiv") {
      return integer(floor_divided(whole(a), whole(b)));
    }
    if (name == "CeilDiv") return integer(-floor_divided(product(whole(a), -1), whole(b)));
    if (name == "Mod" || name == "PythonMod") return integer(modulo(whole(a), whole(b)));
    if (name == "BitwiseFn_bitwise_and") return integer(whole(a) & whole(b));
    if (name == "BitwiseFn_bitwise_or") return integer(whole(a) | whole(b));
    if (name == "BitwiseFn_bitwise_xor") return integer(whole(a) ^ whole(b));
    unknown(name, 2);
  }

  // Python's int(): what no 64 bits hold is refused.
  Value rounded(double number) const {
    if (!(number >= -0x1p63 && number < 0x1p63)) fail("overflows 64 bits");
    return integer(static_cast<std::int64_t>(number));
  }

  Value unary(const std::string& name, const Value& value) const {
    if (name == "Identity") return value;
    if (name == "Not") return truth(!is_true(value));
    if (name == "ToFloat") return real(value.as_double());
    if (name == "TruncToFloat") return real(std::trunc(value.as_double()));
    if (name == "Abs") return is_less(value, integer(0)) ? multiply(value, integer(-1)) : value;
    const bool rounds_down = name == "FloorToInt" || name == "floor";
    const bool rounds_up = name == "CeilToInt" || name == "ceiling";
    if (rounds_down || rounds_up || name == "TruncToInt" || name == "RoundToInt") {
      if (value.is_integer()) return value;
      const double number = value.as_double();
      if (rounds_down) return rounded(std::floor(number));
      if (rounds_up) return rounded(std::ceil(number));
      return rounded(name == "TruncToInt" ? std::trunc(number) : std::nearbyint(number));
    }
    return real(elementary(name, value.as_double()));
  }

  double elementary(std::string_view name, double value) const {
    constexpr std::string_view kOpaque = "OpaqueUnaryFn_";
    const std::string_view bare = name.starts_with(kOpaque) ? name.substr(kOpaque.size()) : name;
    static const std::unordered_map<std::string_view, double (*)(double)> kFunctions = {
        {"sqrt", std::sqrt}, {"exp", std::exp},    {"log", std::log},   {"log2", std::log2},
        {"sin", std::sin},   {"cos", std::cos},    {"tan", std::tan},   {"sinh", std::sinh},
        {"cosh", std::cosh}, {"tanh", std::tanh},  {"asin", std::asin}, {"acos", std::acos},
        {"atan", std::atan}, {"asinh", std::asinh}};
    const auto found = kFunctions.find(bare);
    if (found == kFunctions.end()) unknown(std::string(name), 1);
    return found->second(value);
  }

  Value several(const std::string& name, const std::vector<Value>& values) const {
    if (name == "ModularIndexing" && values.size() == 3) {
      const std::int64_t quotient = floor_divided(whole(values[0]), whole(values[1]));
      return integer(modulo(quotient, whole(values[2])));
    }
    const bool folds = name == "Max" || name == "Min" || name == "And" || name == "Or";
    if (!folds || values.empty()) unknown(name, values.size());
    return std::accumulate(values.begin() + 1, values.end(), values[0],
                           [&](const Value& a, const Value& b) { return binary(name, a, b); });
  }

  const std::string& text_;
  const SymbolValues& symbols_;
};

void collect_symbols(const Expression& expression, std::set<std::string>& symbols) {
  if (expression.kind == Expression::Kind::kSymbol) symbols.insert(expression.name);
  for (const Expression& operand : expression.operands) collect_symbols(operand, symbols);
}

}  // namespace

Number evaluate(const std::string& text, const SymbolValues& symbols) {
  const Value value = Evaluator(text, symbols).value(parse_expression(text));
  return value.is_integer() ? Number(value.numerator) : Number(value.as_double());
}

std::int64_t evaluate_integer(const std::string& text, const SymbolValues& symbols) {
  const Number number = evaluate(text, symbols);
  if (const auto* whole = std::get_if<std::int64_t>(&number)) return *whole;
  throw Error(ErrorKind::kBadInput, fmt::format("the symbolic size `{}` is {}, which is no integer",
                                                text, std::get<double>(number)));
}

std::set<std::string> symbols_in(const std::string& text) {
  std::set<std::string> symbols;
  collect_symbols(parse_expression(text), symbols);
  return symbols;
}

Json to_json(const Number& number) {
  if (const auto* whole = std::get_if<std::int64_t>(&number)) return *whole;
  return float_to_json(std::get<double>(number));
}

Number number_from_json(const Json& value, const std::string& where) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return float_from_json(value, where);
}

}  // namespace fuseproof
