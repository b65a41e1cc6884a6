// Python source text: literals, and the layout of long expressions as ruff would have them,
// so that scripts read like written by hand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/expression_value.h"
#include "base/json.h"

namespace fuseproof {

inline constexpr std::size_t kPythonColumns = 100;

// "3", "2.5", "1.0", "float('inf')" with double quotes.
std::string python_literal(const Number& number);
std::string python_literal(double value);
// One line, double quotes, escapes where they are needed. Bytes that are not UTF-8 become U+FFFD.
std::string python_literal(std::string_view text);
// A string of several lines between triple quotes, raw where that is possible.
std::string python_text_block(std::string_view text);
// "cuda:1" → "cuda"; a text that names no device with an index stays as it is.
std::string without_device_index(const std::string& text);
// What may stand in one line of a docstring; a blank for each control character.
std::string docstring_text(std::string_view text);

// An expression that can be broken into lines: a leaf, or elements between brackets.
struct PythonExpression {
  std::string head;  // a leaf's text; else what stands before the bracket: "torch.ops.aten.add("
  std::vector<PythonExpression> elements = {};
  std::string tail = {};  // the closing bracket; "": a leaf

  bool is_leaf() const { return tail.empty(); }
};

PythonExpression python_leaf(std::string text);
// head(elements), with its own brackets: python_group("(", …, ")"), python_group("f(", …, ")").
PythonExpression python_group(std::string head, std::vector<PythonExpression> elements,
                              std::string tail);
PythonExpression python_tuple(const std::vector<std::string>& elements);
// key=value and "key": value, whose value may be broken.
PythonExpression python_prefixed(const std::string& prefix, PythonExpression value);
// A JSON value; strings of several lines become text blocks.
PythonExpression python_expression(const Json& value);

// `before` + expression, beginning in column `indent`; further lines are indented to fit. Breaks
// the expression only where it would reach beyond kPythonColumns. No line feed at the end.
std::string python_statement(std::size_t indent, const std::string& before,
                             const PythonExpression& expression);

}  // namespace fuseproof
