// A number that depends on symbols, as text: a size of a graph whose shapes are symbolic, or a
// scalar computed from sizes. The text is Python's, as sympy prints it for torch:
//
//   "2*s0 + 1"  "(s0//2)"  "s0**2/2 - s0/2"  "Max(1, u0)"  "ModularIndexing(s0, 2, 4)"
//   "Where(s0 < 8, s0, 8)"  "Piecewise((1, Eq(s0, 2)), (s0, True))"  "FloatPow(ToFloat(s0), 0.5)"
//
// Operators and functions are one: "a + b" is read as Add(a, b), so that whoever walks the tree
// knows names alone. See expression_value.h for what each name computes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fuseproof {

struct Expression {
  enum class Kind : std::uint8_t { kInteger, kFloat, kSymbol, kFunction };
  Kind kind = Kind::kInteger;
  std::int64_t integer = 0;               // kInteger; True is 1, False is 0
  double number = 0;                      // kFloat
  std::string name = {};                  // kSymbol, kFunction: "Add", "Mul", "FloorDiv", "Lt"
  std::vector<Expression> operands = {};  // kFunction
};

// Throws kUnsupported, with the text, for what is no such expression.
Expression parse_expression(const std::string& text);

}  // namespace fuseproof
