#include "tensor/size.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace fuseproof {
namespace {

// Higher powers are multiplied out for nobody.
constexpr std::int64_t kMaxPower = 16;
// Of a sum; those of real programs have a handful.
constexpr std::size_t kMaxTerms = 1000;

[[noreturn]] void overflow() {
  throw Error(ErrorKind::kUnsupported, "a symbolic size whose coefficients overflow 64 bits");
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) overflow();
  return result;
}

std::int64_t total(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) overflow();
  return result;
}

// One name for what is the same; the order of operands does not matter to some.
std::string_view usual_name(std::string_view name) {
  if (name == "PythonMod") return "Mod";
  if (name == "PowByNatural") return "Pow";
  return name;
}

bool is_commutative(std::string_view name) {
  constexpr std::string_view kNames[] = {"Max", "Min", "And", "Or", "Eq", "Ne"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

struct Size::Division {
  std::string text;  // as it stands among the factors
  Size dividend;
  std::int64_t divisor = 1;
};

Size::Size(std::int64_t value) {
  if (value != 0) terms_[{}] = {value, 1};
}

Size::Fraction Size::fraction(std::int64_t numerator, std::int64_t denominator) {
  if (denominator < 0) {
    numerator = product(numerator, -1);
    denominator = product(denominator, -1);
  }
  const std::int64_t divisor = std::gcd(numerator, denominator);
  return {numerator / divisor, denominator / divisor};
}

void Size::add(const Product& factors, const Fraction& coefficient) {
  Fraction& present = terms_[factors];
  present = fraction(total(product(present.numerator, coefficient.denominator),
                           product(coefficient.numerator, present.denominator)),
                     product(present.denominator, coefficient.denominator));
  if (present.numerator == 0) terms_.erase(factors);
}

Size Size::scaled(const Fraction& by) const {
  Size result;
  for (const auto& [factors, coefficient] : terms_) {
    result.add(factors, fraction(product(coefficient.numerator, by.numerator),
                                 product(coefficient.denominator, by.denominator)));
  }
  return result;
}

Size Size::operator+(const Size& other) const {
  Size result = *this;
  for (const auto& [factors, coefficient] : other.terms_) result.add(factors, coefficient);
  return result;
}

Size Size::operator-(const Size& other) const { return *this + other.scaled({-1, 1}); }

Size Size::operator*(const Size& other) const {
  Size result;
  for (const auto& [left, left_coefficient] : terms_) {
    for (const auto& [right, right_coefficient] : other.terms_) {
      Product factors = left;
      for (const auto& [factor, power] : right) factors[factor] += power;
      result.add(factors,
                 fraction(product(left_coefficient.numerator, right_coefficient.numerator),
                          product(left_coefficient.denominator, right_coefficient.denominator)));
      if (result.terms_.size() > kMaxTerms) {
        throw Error(ErrorKind::kUnsupported,
                    fmt::format("a symbolic size of more than {} products", kMaxTerms));
      }
    }
  }
  return result;
}

std::optional<std::int64_t> Size::number() const {
  if (terms_.empty()) return 0;
  const auto& [factors, coefficient] = *terms_.begin();
  if (terms_.size() > 1 || !factors.empty() || coefficient.denominator != 1) return std::nullopt;
  return coefficient.numerator;
}

// With each factor f written as 1 + f: then all of them are at least zero.
Size Size::with_factors_one_more() const {
  Size result;
  for (const auto& [factors, coefficient] : terms_) {
    Size term = Size(1).scaled(coefficient);
    for (const auto& [factor_text, power] : factors) {
      for (int i = 0; i < power; ++i) term = term * (factor(factor_text) + 1);
    }
    result = result + term;
  }
  return result;
}

bool Size::is_surely_positive() const {
  const Size shifted = with_factors_one_more();
  const auto constant = shifted.terms_.find({});
  return constant != shifted.terms_.end() &&
         std::all_of(shifted.terms_.begin(), shifted.terms_.end(),
                     [](const auto& term) { return term.second.numerator > 0; });
}

Size Size::factor(const std::string& text) {
  Size result;
  result.terms_[{{text, 1}}] = {1, 1};
  return result;
}

Size Size::from(const Expression& expression) {
  switch (expression.kind) {
    case Expression::Kind::kInteger: return expression.integer;
    case Expression::Kind::kFloat: return factor(json_text(Json(expression.number), -1));
    case Expression::Kind::kSymbol: return factor(expression.name);
    case Expression::Kind::kFunction: break;
  }
  return from_function(expression);
}

Size Size::from_function(const Expression& expression) {
  const std::string_view name = usual_name(expression.name);
  std::vector<Size> operands;
  for (const Expression& operand : expression.operands) operands.push_back(from(operand));
  const bool is_binary = operands.size() == 2;
  if (is_binary && name == "Add") return operands[0] + operands[1];
  if (is_binary && name == "Mul") return operands[0] * operands[1];
  if (name == "Identity" && operands.size() == 1) return operands[0];
  const std::optional<std::int64_t> last = operands.back().number();
  // CleanDiv is a division that is known to leave nothing over.
  if (is_binary && (name == "Div" || name == "CleanDiv") && last.value_or(0) != 0) {
    return operands[0].scaled(fraction(1, *last));
  }
  if (is_binary && name == "Pow" && last && *last >= 0 && *last <= kMaxPower) {
    Size power = 1;
    for (std::int64_t i = 0; i < *last; ++i) power = power * operands[0];
    return power;
  }
  if (is_binary && name == "FloorDiv" && last.value_or(0) > 0) {
    return floor_div(std::move(operands[0]), *last);
  }
  return opaque(std::string(name), operands);
}

// One form for ⌊(⌊x/m⌋ + c)/d⌋ and ⌊(x/m + c)/d⌋, which are both ⌊(x + m*c)/(m*d)⌋: torch writes an
// inner division as exact once it knows that it is. What stands in a FloorDiv is an integer.
Size Size::floor_div(Size dividend, std::int64_t divisor) {
  try {
    dividend.reduce_over(divisor);
    while (const std::optional<Division> inner = dividend.inner_division()) {
      const std::int64_t deeper = product(divisor, inner->divisor);
      dividend = (dividend - factor(inner->text)).scaled({inner->divisor, 1}) + inner->dividend;
      divisor = deeper;
      dividend.reduce_over(divisor);
    }
  } catch (const Error&) {
    // What overflows stays as far as it came.
  }
  return divisor == 1 && dividend.is_whole() ? dividend : opaque("FloorDiv", {dividend, divisor});
}

bool Size::is_whole() const {
  return std::all_of(terms_.begin(), terms_.end(),
                     [](const auto& term) { return term.second.denominator == 1; });
}

// Brings this / divisor to lowest terms. Throws before it changes anything.
void Size::reduce_over(std::int64_t& divisor) {
  std::int64_t common = 1;
  for (const auto& [factors, coefficient] : terms_) {
    common = product(common / std::gcd(common, coefficient.denominator), coefficient.denominator);
  }
  const Size multiple = scaled({common, 1});
  const std::int64_t whole = product(divisor, common);
  std::int64_t shared = whole;
  for (const auto& [factors, coefficient] : multiple.terms_) {
    shared = std::gcd(shared, coefficient.numerator);
  }
  *this = multiple.scaled(fraction(1, shared));
  divisor = whole / shared;
}

// A term of the sum that is ⌊x/m⌋, where the other terms have whole coefficients.
std::optional<Size::Division> Size::inner_division() const {
  if (!is_whole()) return std::nullopt;
  for (const auto& [factors, coefficient] : terms_) {
    const bool is_alone = factors.size() == 1 && factors.begin()->second == 1;
    if (!is_alone || coefficient != Fraction{1, 1}) continue;
    const std::string& text = factors.begin()->first;
    if (!text.starts_with("FloorDiv(")) continue;
    const Expression division = parse_expression(text);
    const std::int64_t divisor = from(division.operands.at(1)).number().value_or(0);
    if (divisor > 0) return Division{text, from(division.operands.at(0)), divisor};
  }
  return std::nullopt;
}

Size Size::opaque(const std::string& name, const std::vector<Size>& operands) {
  std::vector<std::string> texts;
  bool is_constant = true;
  for (const Size& operand : operands) {
    texts.push_back(operand.text());
    is_constant = is_constant && operand.number();
  }
  if (is_commutative(name)) std::sort(texts.begin(), texts.end());
  const std::string text = fmt::format("{}({})", name, fmt::join(texts, ", "));
  if (!is_constant || name == "Tuple") return factor(text);
  const Number number = evaluate(text, {});
  const auto* whole = std::get_if<std::int64_t>(&number);
  return whole != nullptr ? Size(*whole) : factor(text);
}

Size Size::parse(const std::string& text) { return from(parse_expression(text)); }

std::string Size::text_of(const Product& factors, const Fraction& coefficient) {
  std::vector<std::string> parts;
  const bool is_negated = coefficient.numerator == -1 && !factors.empty();
  if (!is_negated && (coefficient.numerator != 1 || factors.empty())) {
    parts.push_back(std::to_string(coefficient.numerator));
  }
  for (const auto& [factor, power] : factors) {
    parts.push_back(power == 1 ? factor : fmt::format("{}**{}", factor, power));
  }
  std::string text = fmt::format("{}{}", is_negated ? "-" : "", fmt::join(parts, "*"));
  if (coefficient.denominator != 1) text += fmt::format("/{}", coefficient.denominator);
  return text;
}

std::string Size::text() const {
  if (terms_.empty()) return "0";
  std::string text;
  // The constant, which is first in the map, stands last.
  for (auto term = terms_.rbegin(); term != terms_.rend(); ++term) {
    const std::string part = text_of(term->first, term->second);
    if (text.empty()) {
      text = part;
    } else {
      text += part.starts_with('-') ? " - " + part.substr(1) : " + " + part;
    }
  }
  return text;
}

std::optional<Size::Linear> Size::linear_in(const std::string& symbol) const {
  Linear linear;
  for (const auto& [factors, coefficient] : terms_) {
    Product others;
    int power = 0;
    for (const auto& [factor, factor_power] : factors) {
      if (factor == symbol) {
        power = factor_power;
        continue;
      }
      if (symbols_in(factor).contains(symbol)) return std::nullopt;
      others[factor] = factor_power;
    }
    if (power > 1) return std::nullopt;
    (power == 1 ? linear.coefficient : linear.rest).add(others, coefficient);
  }
  return linear;
}

std::int64_t Size::value(const SymbolValues& symbols) const {
  const std::optional<std::int64_t> constant = number();
  return constant ? *constant : evaluate_integer(text(), symbols);
}

void Size::collect_symbols(std::set<std::string>& symbols) const {
  if (!number()) symbols.merge(symbols_in(text()));
}

Json to_json(const Size& size) {
  const std::optional<std::int64_t> number = size.number();
  return number ? Json(*number) : Json(size.text());
}

Size size_from_json(const Json& value, const std::string& where) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_string()) {
    throw Error(ErrorKind::kBadInput,
                fmt::format("{}: {} is neither an integer nor a symbolic size", where,
                            json_text(value, -1)));
  }
  try {
    return Size::parse(value.get<std::string>());
  } catch (const Error& error) {
    throw Error(ErrorKind::kBadInput, fmt::format("{}: {}", where, error.what()));
  }
}

}  // namespace fuseproof
