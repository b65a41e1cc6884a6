#include "sandbox/message.h"

#include <bit>
#include <string_view>

namespace fuseproof {
namespace {

// Enumerations travel as their numbers: both ends come from one build.
template <typename Enum>
Enum enumeration(const JsonObject& object, std::string_view key, Enum last) {
  const std::uint64_t number = object.size(key);
  if (number > static_cast<std::uint64_t>(last)) object.fail(key, "is out of range");
  return static_cast<Enum>(number);
}

Json argument_to_json(const SandboxArgument& argument) {
  return {{"kind", static_cast<int>(argument.kind)},
          {"storage", argument.storage},
          {"byte_offset", argument.byte_offset},
          {"integer", argument.integer},
          {"number", std::bit_cast<std::uint64_t>(argument.number)}};
}

SandboxArgument argument_from_json(const JsonObject& object) {
  return {.kind = enumeration(object, "kind", SandboxArgument::Kind::kDouble),
          .storage = object.size("storage"),
          .byte_offset = object.integer("byte_offset"),
          .integer = object.integer("integer"),
          .number = std::bit_cast<double>(object.size("number"))};
}

}  // namespace

Json to_json(const SandboxRequest& request) {
  Json arguments = Json::array();
  for (const SandboxArgument& argument : request.arguments) {
    arguments.push_back(argument_to_json(argument));
  }
  return {{"object", request.object.string()},
          {"entry", request.entry},
          {"arguments", std::move(arguments)},
          {"threads", request.threads},
          {"mxcsr", request.mxcsr},
          {"cpu_seconds", request.limits.cpu_seconds},
          {"wall_seconds", request.limits.wall_seconds},
          {"memory_bytes", request.limits.memory_bytes}};
}

SandboxRequest sandbox_request_from_json(const JsonObject& object) {
  SandboxRequest request;
  request.object = object.string("object");
  request.entry = object.string("entry");
  for (const JsonObject& argument : object.objects("arguments")) {
    request.arguments.push_back(argument_from_json(argument));
  }
  request.threads = static_cast<int>(object.integer("threads"));
  request.mxcsr = static_cast<std::uint32_t>(object.size("mxcsr"));
  request.limits.cpu_seconds = static_cast<int>(object.integer("cpu_seconds"));
  request.limits.wall_seconds = static_cast<int>(object.integer("wall_seconds"));
  request.limits.memory_bytes = object.size("memory_bytes");
  return request;
}

Json to_json(const SandboxReport& report) {
  Json hits = Json::array();
  for (const SandboxGuardHit& hit : report.guard_hits) {
    hits.push_back(
        {{"storage", hit.storage}, {"byte_offset", hit.byte_offset}, {"is_write", hit.is_write}});
  }
  return {{"outcome", static_cast<int>(report.outcome)},
          {"message", report.message},
          {"exception_type", report.exception_type},
          {"error_output", report.error_output},
          {"guard_hits", std::move(hits)},
          {"mxcsr_after", report.mxcsr_after},
          {"time_ns", report.time_ns}};
}

SandboxReport sandbox_report_from_json(const JsonObject& object) {
  SandboxReport report;
  report.outcome = enumeration(object, "outcome", SandboxOutcome::kDidNotLoad);
  report.message = object.string("message");
  report.exception_type = object.string("exception_type");
  report.error_output = object.string("error_output");
  for (const JsonObject& hit : object.objects("guard_hits")) {
    report.guard_hits.push_back({.storage = hit.size("storage"),
                                 .byte_offset = hit.integer("byte_offset"),
                                 .is_write = hit.boolean("is_write")});
  }
  report.mxcsr_after = static_cast<std::uint32_t>(object.size("mxcsr_after"));
  report.time_ns = object.integer("time_ns");
  return report;
}

}  // namespace fuseproof
