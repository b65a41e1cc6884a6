#include "scripts/python_source.h"

#include <algorithm>
#include <cmath>
#include <regex>

#include <fmt/format.h>

namespace fuseproof {
namespace {

// Python's json module and ours agree on what is UTF-8.
std::string valid_utf8(std::string_view text) {
  return Json::parse(json_text(Json(std::string(text)), -1)).get<std::string>();
}

bool is_control(char character) {
  const auto code = static_cast<unsigned char>(character);
  return code < 0x20 || code == 0x7f;
}

std::string escaped(char character) {
  switch (character) {
    case '\\': return "\\\\";
    case '"': return "\\\"";
    case '\n': return "\\n";
    case '\t': return "\\t";
    case '\r': return "\\r";
    default: return fmt::format("\\x{:02x}", static_cast<unsigned char>(character));
  }
}

bool can_be_raw(std::string_view text) {
  const bool has_control = std::ranges::any_of(text, [](char character) {
    return is_control(character) && character != '\n' && character != '\t';
  });
  return !has_control && text.find("\"\"\"") == std::string_view::npos && !text.ends_with('"') &&
         !text.ends_with('\\');
}

// All on one line.
std::string flat(const PythonExpression& expression) {
  if (expression.is_leaf()) return expression.head;
  std::string text = expression.head;
  for (std::size_t i = 0; i < expression.elements.size(); ++i) {
    text += (i == 0 ? "" : ", ") + flat(expression.elements[i]);
  }
  return text + expression.tail;
}

bool has_line_feed(const PythonExpression& expression) {
  return expression.head.find('\n') != std::string::npos ||
         std::ranges::any_of(expression.elements, has_line_feed);
}

std::string statement(std::size_t indent, const std::string& before,
                      const PythonExpression& expression, std::size_t columns);

// Elements between brackets on lines of their own.
std::string broken(std::size_t indent, const std::string& before,
                   const PythonExpression& expression) {
  constexpr std::size_t kStep = 4;
  const std::string pad(indent, ' ');
  const std::string inner_pad(indent + kStep, ' ');
  const bool is_call = expression.head.size() > 1 && expression.head.ends_with('(');
  std::string text = before + expression.head + "\n";
  std::string line;
  for (const PythonExpression& element : expression.elements) {
    line += (line.empty() ? "" : ", ") + flat(element);
  }
  if (is_call && !has_line_feed(expression) && inner_pad.size() + line.size() <= kPythonColumns) {
    return text + inner_pad + line + "\n" + pad + expression.tail;
  }
  for (const PythonExpression& element : expression.elements) {
    // The comma is a column, too.
    text += inner_pad + statement(indent + kStep, "", element, kPythonColumns - 1) + ",\n";
  }
  return text + pad + expression.tail;
}

std::string statement(std::size_t indent, const std::string& before,
                      const PythonExpression& expression, std::size_t columns) {
  if (expression.is_leaf()) return before + expression.head;
  std::string line = before + flat(expression);
  const bool is_short = indent + line.size() <= columns;
  if (expression.elements.empty() || (is_short && !has_line_feed(expression))) return line;
  return broken(indent, before, expression);
}

}  // namespace

std::string python_literal(double value) {
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string python_literal(const Number& number) {
  if (const auto* value = std::get_if<std::int64_t>(&number)) return fmt::format("{}", *value);
  return python_literal(std::get<double>(number));
}

std::string python_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char character : valid_utf8(text)) {
    const bool is_plain = !is_control(character) && character != '"' && character != '\\';
    literal += is_plain ? std::string(1, character) : escaped(character);
  }
  return literal + "\"";
}

std::string python_text_block(std::string_view text) {
  const std::string clean = valid_utf8(text);
  if (can_be_raw(clean)) return "r\"\"\"" + clean + "\"\"\"";
  std::string block = "\"\"\"";
  for (const char character : clean) {
    const bool is_plain = character == '\n' || character == '\t' ||
                          (!is_control(character) && character != '"' && character != '\\');
    block += is_plain ? std::string(1, character) : escaped(character);
  }
  return block + "\"\"\"";
}

std::string without_device_index(const std::string& text) {
  static const std::regex kDevice("([a-z]+):[0-9]+");
  std::smatch match;
  return std::regex_match(text, match, kDevice) ? match[1].str() : text;
}

std::string docstring_text(std::string_view text) {
  std::string result;
  for (const char character : valid_utf8(text)) {
    const bool would_end = character == '"' && result.ends_with("\"\"");
    if (character == '\\' || would_end) result += '\\';
    result += is_control(character) ? ' ' : character;
  }
  return result;
}

PythonExpression python_leaf(std::string text) { return {.head = std::move(text)}; }

PythonExpression python_group(std::string head, std::vector<PythonExpression> elements,
                              std::string tail) {
  return {std::move(head), std::move(elements), std::move(tail)};
}

PythonExpression python_tuple(const std::vector<std::string>& elements) {
  if (elements.size() == 1) return python_leaf("(" + elements.front() + ",)");
  std::vector<PythonExpression> leaves;
  for (const std::string& element : elements) leaves.push_back(python_leaf(element));
  return python_group("(", std::move(leaves), ")");
}

PythonExpression python_prefixed(const std::string& prefix, PythonExpression value) {
  value.head = prefix + value.head;
  return value;
}

PythonExpression python_expression(const Json& value) {
  if (value.is_null()) return python_leaf("None");
  if (value.is_boolean()) return python_leaf(value.get<bool>() ? "True" : "False");
  if (value.is_number_float()) return python_leaf(python_literal(value.get<double>()));
  if (value.is_number()) return python_leaf(value.dump());
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    const bool is_block = text.find('\n') != std::string::npos;
    return python_leaf(is_block ? python_text_block(text) : python_literal(text));
  }
  std::vector<PythonExpression> elements;
  if (value.is_array()) {
    for (const Json& element : value) elements.push_back(python_expression(element));
    return python_group("[", std::move(elements), "]");
  }
  for (const auto& [key, element] : value.items()) {
    elements.push_back(python_prefixed(python_literal(key) + ": ", python_expression(element)));
  }
  return python_group("{", std::move(elements), "}");
}

std::string python_statement(std::size_t indent, const std::string& before,
                             const PythonExpression& expression) {
  return statement(indent, before, expression, kPythonColumns);
}

}  // namespace fuseproof
