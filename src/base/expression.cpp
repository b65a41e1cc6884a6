#include "base/expression.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

// A text that nests deeper is no size, and would exhaust the stack.
constexpr int kMaxDepth = 200;

Expression function(std::string name, std::vector<Expression> operands) {
  Expression result;
  result.kind = Expression::Kind::kFunction;
  result.name = std::move(name);
  result.operands = std::move(operands);
  return result;
}

Expression integer(std::int64_t value) {
  Expression result;
  result.integer = value;
  return result;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Recursive descent; one function for each level of precedence, as in Python's grammar.
class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text), rest_(text) {}

  Expression run() {
    Expression result = comparison();
    skip_spaces();
    if (!rest_.empty()) fail();
    return result;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("the symbolic number `{}` cannot be read: unexpected `{}`", text_,
                            rest_.empty() ? "end" : rest_));
  }

  void skip_spaces() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  bool take(std::string_view token) {
    skip_spaces();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  Expression comparison() {
    if (++depth_ > kMaxDepth) fail();
    Expression left = disjunction();
    // Longer tokens first.
    constexpr std::array<std::pair<std::string_view, const char*>, 6> kRelations = {
        {{"<=", "Le"}, {">=", "Ge"}, {"==", "Eq"}, {"!=", "Ne"}, {"<", "Lt"}, {">", "Gt"}}};
    for (const auto& [token, name] : kRelations) {
      if (!take(token)) continue;
      left = function(name, {std::move(left), disjunction()});
      break;
    }
    --depth_;
    return left;
  }

  Expression disjunction() {
    Expression left = conjunction();
    while (take("|")) left = function("Or", {std::move(left), conjunction()});
    return left;
  }

  Expression conjunction() {
    Expression left = sum();
    while (take("&")) left = function("And", {std::move(left), sum()});
    return left;
  }

  Expression sum() {
    Expression left = product();
    while (true) {
      if (take("+")) {
        left = function("Add", {std::move(left), product()});
      } else if (take("-")) {
        left = function("Add", {std::move(left), function("Mul", {integer(-1), product()})});
      } else {
        return left;
      }
    }
  }

  Expression product() {
    Expression left = unary();
    while (true) {
      if (take("//")) {
        left = function("FloorDiv", {std::move(left), unary()});
      } else if (take("/")) {
        left = function("Div", {std::move(left), unary()});
      } else if (take("%")) {
        left = function("Mod", {std::move(left), unary()});
      } else if (take("*")) {
        left = function("Mul", {std::move(left), unary()});
      } else {
        return left;
      }
    }
  }

  Expression unary() {
    if (++depth_ > kMaxDepth) fail();
    Expression result;
    if (take("-")) {
      result = function("Mul", {integer(-1), unary()});
    } else if (take("~")) {
      result = function("Not", {unary()});
    } else {
      result = power();
    }
    --depth_;
    return result;
  }

  Expression power() {
    Expression base = atom();
    if (!take("**")) return base;
    return function("Pow", {std::move(base), unary()});
  }

  Expression atom() {
    if (take("(")) {
      std::vector<Expression> parts = list();
      return parts.size() == 1 ? std::move(parts[0]) : function("Tuple", std::move(parts));
    }
    skip_spaces();
    if (!rest_.empty() && (is_digit(rest_.front()) || rest_.front() == '.')) return literal();
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_word);
    const std::string word(rest_.begin(), end);
    if (word.empty()) fail();
    rest_.remove_prefix(word.size());
    if (word == "True" || word == "False") return integer(word == "True" ? 1 : 0);
    if (take("(")) return function(word, list());
    Expression symbol;
    symbol.kind = Expression::Kind::kSymbol;
    symbol.name = word;
    return symbol;
  }

  // Up to the closing parenthesis.
  std::vector<Expression> list() {
    std::vector<Expression> elements = {comparison()};
    while (take(",")) elements.push_back(comparison());
    if (!take(")")) fail();
    return elements;
  }

  Expression literal() {
    const char* begin = rest_.data();
    const char* end = begin + rest_.size();
    Expression result;
    const auto whole = std::from_chars(begin, end, result.integer);
    const bool is_whole = whole.ec == std::errc() &&
                          (whole.ptr == end || (*whole.ptr != '.' && !is_word(*whole.ptr)));
    const char* after = whole.ptr;
    if (!is_whole) {
      result.kind = Expression::Kind::kFloat;
      const auto fraction = std::from_chars(begin, end, result.number);
      after = fraction.ptr;
      const bool has_point = std::any_of(begin, after, [](char c) { return c == '.' || c == 'e'; });
      if (fraction.ec != std::errc() || !has_point || (after != end && is_word(*after))) fail();
    }
    rest_.remove_prefix(static_cast<std::size_t>(after - begin));
    return result;
  }

  const std::string& text_;
  std::string_view rest_;
  int depth_ = 0;
};

}  // namespace

Expression parse_expression(const std::string& text) { return Parser(text).run(); }

}  // namespace fuseproof
