// A size, stride or offset that may depend on symbols, in a form in which equal ones are equal: a
// sum of products, "4*s0*s1 + s0 + 1", in a fixed order. The factors are symbols, or functions of
// them whose operands are in the same form ("FloorDiv(s0 + 1, 2)").
//
// Two sizes that compare equal are equal whatever the symbols are. Two that differ may still agree
// for the sizes that a graph admits; nothing is concluded from that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/expression_value.h"

namespace fuseproof {

class Size {
 public:
  // A number. Implicit, since most sizes are plain numbers.
  Size(std::int64_t value = 0);  // NOLINT(google-explicit-constructor)
  // Throws kUnsupported for a text that is no expression, or numbers that overflow 64 bits.
  static Size parse(const std::string& text);

  bool operator==(const Size&) const = default;
  Size operator+(const Size& other) const;
  Size operator-(const Size& other) const;
  Size operator*(const Size& other) const;

  // The number, when it depends on no symbol.
  std::optional<std::int64_t> number() const;
  // Whether it is positive for all values of its factors from 1 on. (For others, tensors of these
  // sizes have no elements.)
  bool is_surely_positive() const;

  // The size as coefficient * symbol + rest, where the rest does not depend on the symbol; nothing
  // when it depends on the symbol in another way.
  struct Linear;
  std::optional<Linear> linear_in(const std::string& symbol) const;

  // Throws kBadInput for a symbol without a value, and for what is no integer there.
  std::int64_t value(const SymbolValues& symbols) const;
  void collect_symbols(std::set<std::string>& symbols) const;

  // Readable by parse(); a number is its digits.
  std::string text() const;

 private:
  using Product = std::map<std::string, int>;  // factors and their powers; empty: one
  // "s0*(s0 - 1)/2" is an integer, its coefficients are not.
  struct Fraction {
    std::int64_t numerator = 0;
    std::int64_t denominator = 1;  // positive, in lowest terms
    bool operator==(const Fraction&) const = default;
  };

  static Fraction fraction(std::int64_t numerator, std::int64_t denominator);
  static Size from(const Expression& expression);
  static Size from_function(const Expression& expression);
  static Size factor(const std::string& text);
  struct Division;
  static Size floor_div(Size dividend, std::int64_t divisor);
  std::optional<Division> inner_division() const;
  bool is_whole() const;
  void reduce_over(std::int64_t& divisor);
  // A function of its operands, as one factor; a number where they are.
  static Size opaque(const std::string& name, const std::vector<Size>& operands);
  static std::string text_of(const Product& product, const Fraction& coefficient);
  void add(const Product& product, const Fraction& coefficient);
  Size with_factors_one_more() const;
  Size scaled(const Fraction& by) const;

  std::map<Product, Fraction> terms_;  // none is zero
};

struct Size::Linear {
  Size coefficient;
  Size rest;
};

// The size as JSON: a number, or the text of an expression.
Json to_json(const Size& size);
// Throws kBadInput, naming `where`.
Size size_from_json(const Json& value, const std::string& where);

}  // namespace fuseproof
