#include "base/json.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {

Json parse_json(std::string_view text, const std::string& where) {
  // Readers and writers recurse, and records are nested a dozen levels deep.
  constexpr int kMaxDepth = 200;
  const auto keep = [&](int depth, Json::parse_event_t, const Json&) {
    if (depth <= kMaxDepth) return true;
    throw Error(ErrorKind::kBadInput, fmt::format("{}: nested more than {} levels deep: the file "
                                                  "was edited; capture again, or restore it.",
                                                  where, kMaxDepth));
  };
  try {
    return Json::parse(text, keep);
  } catch (const Json::exception& problem) {
    throw Error(ErrorKind::kBadInput,
                fmt::format("{}: not valid JSON ({}). The file is truncated or was edited; "
                            "capture again, or restore it.",
                            where, problem.what()));
  }
}

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json float_to_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

double float_from_json(const Json& value, const std::string& where) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return kInfinity;
  if (value == "-inf") return -kInfinity;
  throw Error(ErrorKind::kBadInput, fmt::format("{}: {} is no float", where, json_text(value, -1)));
}

JsonObject::JsonObject(const Json& value, std::string where)
    : value_(&value), where_(std::move(where)) {
  if (!value.is_object()) {
    throw Error(ErrorKind::kBadInput,
                fmt::format("{}: expected a JSON object, found {}", where_, value.type_name()));
  }
}

bool JsonObject::has(std::string_view key) const { return value_->contains(std::string(key)); }

const Json& JsonObject::raw(std::string_view key) const {
  const auto found = value_->find(std::string(key));
  if (found == value_->end()) fail(key, "is missing");
  return *found;
}

void JsonObject::fail(std::string_view key, const std::string& problem) const {
  throw Error(ErrorKind::kBadInput, fmt::format("{}: field `{}` {}", where_, key, problem));
}

std::string JsonObject::string(std::string_view key) const {
  const Json& value = raw(key);
  if (!value.is_string()) fail(key, "is not a string");
  return value.get<std::string>();
}

std::int64_t JsonObject::integer(std::string_view key) const {
  const Json& value = raw(key);
  if (!value.is_number_integer()) fail(key, "is not an integer");
  return value.get<std::int64_t>();
}

std::uint64_t JsonObject::size(std::string_view key) const {
  const Json& value = raw(key);
  if (!value.is_number_integer() ||
      (!value.is_number_unsigned() && value.get<std::int64_t>() < 0)) {
    fail(key, "is not a non-negative integer");
  }
  return value.get<std::uint64_t>();
}

bool JsonObject::boolean(std::string_view key) const {
  const Json& value = raw(key);
  if (!value.is_boolean()) fail(key, "is not a boolean");
  return value.get<bool>();
}

std::vector<std::int64_t> JsonObject::integers(std::string_view key) const {
  const Json& value = raw(key);
  if (!value.is_array()) fail(key, "is not an array");
  std::vector<std::int64_t> result;
  for (const Json& element : value) {
    if (!element.is_number_integer()) fail(key, "holds something that is not an integer");
    result.push_back(element.get<std::int64_t>());
  }
  return result;
}

std::vector<std::string> JsonObject::strings(std::string_view key) const {
  const Json& value = raw(key);
  if (!value.is_array()) fail(key, "is not an array");
  std::vector<std::string> result;
  for (const Json& element : value) {
    if (!element.is_string()) fail(key, "holds something that is not a string");
    result.push_back(element.get<std::string>());
  }
  return result;
}

JsonObject JsonObject::object(std::string_view key) const {
  return JsonObject(raw(key), fmt::format("{}: `{}`", where_, key));
}

std::vector<JsonObject> JsonObject::objects(std::string_view key) const {
  const Json& value = raw(key);
  if (!value.is_array()) fail(key, "is not an array");
  std::vector<JsonObject> result;
  for (std::size_t i = 0; i < value.size(); ++i) {
    result.emplace_back(value[i], fmt::format("{}: `{}[{}]`", where_, key, i));
  }
  return result;
}

std::string JsonObject::string_or(std::string_view key, std::string fallback) const {
  return has(key) ? string(key) : std::move(fallback);
}

std::int64_t JsonObject::integer_or(std::string_view key, std::int64_t fallback) const {
  return has(key) ? integer(key) : fallback;
}

bool JsonObject::boolean_or(std::string_view key, bool fallback) const {
  return has(key) ? boolean(key) : fallback;
}

}  // namespace fuseproof
