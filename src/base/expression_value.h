// The value of a symbolic number (expression.h) at one call. Integers are exact and checked for
// overflow, divisions are Python's (towards minus infinity), floats are doubles.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <variant>

#include "base/expression.h"
#include "base/json.h"

namespace fuseproof {

using Number = std::variant<std::int64_t, double>;
using SymbolValues = std::map<std::string, Number>;

// Throws kBadInput for a symbol without a value and for what has no value there (division by zero,
// overflow), kUnsupported for a function that is not known. All name the whole text.
Number evaluate(const std::string& text, const SymbolValues& symbols);

// The same for a size. Throws kBadInput for what is no integer.
std::int64_t evaluate_integer(const std::string& text, const SymbolValues& symbols);

// The symbols that occur in an expression. Throws kUnsupported.
std::set<std::string> symbols_in(const std::string& text);

// A number as JSON: 3, 2.5, "nan". Integers and floats stay apart.
Json to_json(const Number& number);
Number number_from_json(const Json& value, const std::string& where);

}  // namespace fuseproof
