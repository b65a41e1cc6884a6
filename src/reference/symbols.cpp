#include "reference/symbols.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

// Python's: towards minus infinity.
std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

// Recursive descent; one function for each level of precedence, as in Python's grammar.
class Evaluator {
 public:
  Evaluator(const std::string& text, const std::map<std::string, std::int64_t>& symbols)
      : text_(text), rest_(text), symbols_(symbols) {}

  std::int64_t run() {
    const std::int64_t value = sum();
    skip_spaces();
    if (!rest_.empty()) fail();
    return value;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("the reference cannot evaluate the symbolic size `{}`", text_));
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

  std::int64_t sum() {
    std::int64_t value = product();
    while (true) {
      if (take("+")) {
        value += product();
      } else if (take("-")) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  std::int64_t product() {
    std::int64_t value = unary();
    while (true) {
      if (take("//")) {
        value = divided(value, unary());
      } else if (take("*")) {
        value *= unary();
      } else if (take("%")) {
        value = modulo(value, unary());
      } else {
        return value;
      }
    }
  }

  std::int64_t unary() { return take("-") ? -unary() : power(); }

  std::int64_t power() {
    const std::int64_t base = atom();
    if (!take("**")) return base;
    const std::int64_t exponent = unary();
    if (exponent < 0) fail();
    std::int64_t value = 1;
    for (std::int64_t i = 0; i < exponent; ++i) value *= base;
    return value;
  }

  std::int64_t atom() {
    if (take("(")) {
      const std::int64_t value = sum();
      if (!take(")")) fail();
      return value;
    }
    const auto end = std::find_if(rest_.begin(), rest_.end(),
                                  [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; });
    const std::string word(rest_.begin(), end);
    rest_.remove_prefix(word.size());
    if (word.empty()) fail();
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) return number(word);
    return take("(") ? function(word) : symbol(word);
  }

  std::int64_t number(const std::string& word) const {
    const bool is_decimal = word.find_first_not_of("0123456789") == std::string::npos;
    if (!is_decimal || word.size() > 18) fail();
    return std::stoll(word);
  }

  std::int64_t symbol(const std::string& name) const {
    const auto found = symbols_.find(name);
    if (found != symbols_.end()) return found->second;
    throw Error(
        ErrorKind::kBadInput,
        fmt::format("the symbolic size `{}` needs `{}`, of which the call record has no value",
                    text_, name));
  }

  std::int64_t function(const std::string& name) {
    std::vector<std::int64_t> arguments = {sum()};
    while (take(",")) arguments.push_back(sum());
    if (!take(")")) fail();
    if (name == "Max") return *std::max_element(arguments.begin(), arguments.end());
    if (name == "Min") return *std::min_element(arguments.begin(), arguments.end());
    if (arguments.size() != 2) fail();
    if (name == "FloorDiv" || name == "CleanDiv") return divided(arguments[0], arguments[1]);
    if (name == "Mod" || name == "PythonMod") return modulo(arguments[0], arguments[1]);
    if (name == "CeilDiv") return -divided(-arguments[0], arguments[1]);
    fail();
  }

  std::int64_t divided(std::int64_t a, std::int64_t b) const {
    if (b == 0) fail();
    return floor_divide(a, b);
  }

  std::int64_t modulo(std::int64_t a, std::int64_t b) const { return a - divided(a, b) * b; }

  const std::string& text_;
  std::string_view rest_;
  const std::map<std::string, std::int64_t>& symbols_;
};

}  // namespace

std::int64_t evaluate(const std::string& expression,
                      const std::map<std::string, std::int64_t>& symbols) {
  return Evaluator(expression, symbols).run();
}

}  // namespace fuseproof
