// JSON documents: nlohmann's ordered type, and readers whose errors name the file and the field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace fuseproof {

using Json = nlohmann::ordered_json;

// Parses a whole document. `where` names its origin (a path) in the error, which is kBadInput.
Json parse_json(std::string_view text, const std::string& where);

// The document as text; `indent` spaces a level, or one line where it is negative. Total: bytes
// that are not UTF-8 (a user's Latin-1 source, messages of kernels) become U+FFFD.
std::string json_text(const Json& json, int indent);

// A float as JSON: a number, or "nan", "inf", "-inf" where JSON has none.
Json float_to_json(double value);
// The inverse. Throws kBadInput, naming `where`, for anything else.
double float_from_json(const Json& value, const std::string& where);

// A view of one JSON object that remembers where it stands, so that an error can say
// "RUN/sites/…/kernel.json: field `arguments[2].role`: expected a string".
class JsonObject {
 public:
  // Throws kBadInput unless `value` is an object. Keeps a reference: `value` must outlive this.
  JsonObject(const Json& value, std::string where);

  bool has(std::string_view key) const;
  const Json& raw(std::string_view key) const;  // throws kBadInput when absent

  std::string string(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;
  std::uint64_t size(std::string_view key) const;  // a non-negative integer
  bool boolean(std::string_view key) const;
  std::vector<std::int64_t> integers(std::string_view key) const;
  std::vector<std::string> strings(std::string_view key) const;
  JsonObject object(std::string_view key) const;
  // The elements of an array of objects.
  std::vector<JsonObject> objects(std::string_view key) const;

  // The same with a default for an absent key (a present key of the wrong type still throws).
  std::string string_or(std::string_view key, std::string fallback) const;
  std::int64_t integer_or(std::string_view key, std::int64_t fallback) const;
  bool boolean_or(std::string_view key, bool fallback) const;

  const Json& value() const { return *value_; }
  const std::string& where() const { return where_; }

  // An error of kind kBadInput about one field of this object.
  [[noreturn]] void fail(std::string_view key, const std::string& problem) const;

 private:
  const Json* value_;
  std::string where_;
};

}  // namespace fuseproof
