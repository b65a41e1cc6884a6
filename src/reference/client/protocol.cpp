#include "reference/client/protocol.h"

#include <utility>

#include <fmt/format.h>

namespace fuseproof::reference_protocol {
namespace {

constexpr std::pair<ReferenceMode, std::string_view> kModes[] = {
    {ReferenceMode::kNative, "native"},       {ReferenceMode::kFloat64, "float64"},
    {ReferenceMode::kEnvelope, "envelope"},   {ReferenceMode::kSpan, "span"},
    {ReferenceMode::kUnrounded, "unrounded"}, {ReferenceMode::kOpen, "open"},
};

std::string_view mode_name(ReferenceMode mode) {
  for (const auto& [known, name] : kModes) {
    if (known == mode) return name;
  }
  throw Error(ErrorKind::kInternal, "a mode of the reference without a name");
}

ReferenceMode mode_from_name(const JsonObject& object, const std::string& name) {
  for (const auto& [mode, known] : kModes) {
    if (known == name) return mode;
  }
  object.fail("modes", fmt::format("holds the unknown mode `{}`", name));
}

Json run_to_json(const ReferenceRun& run) {
  Json outputs = Json::array();
  for (const ReferenceOutput& output : run.outputs) {
    outputs.push_back({{"storage", output.storage}, {"layout", to_json(output.layout)}});
  }
  return {{"outputs", std::move(outputs)},
          {"exception", run.exception},
          {"no_oracle", run.no_oracle},
          {"sentences", run.sentences}};
}

ReferenceRun run_from_json(const JsonObject& object, std::size_t storage_count) {
  ReferenceRun run;
  for (const JsonObject& output : object.objects("outputs")) {
    const std::size_t storage = output.size("storage");
    if (storage >= storage_count) output.fail("storage", "names no storage of the arena");
    run.outputs.push_back(
        {.storage = storage, .layout = layout_from_json(output.object("layout"))});
  }
  run.exception = object.string("exception");
  run.no_oracle = object.string("no_oracle");
  run.sentences = object.strings("sentences");
  return run;
}

}  // namespace

Json to_json(const RunRequest& request) {
  Json modes = Json::array();
  for (const ReferenceMode mode : request.modes) modes.push_back(mode_name(mode));
  Json body = {{"request", "run"}, {"program", request.program}};
  if (request.fragment) body["fragment"] = *request.fragment;
  body["call"] = fuseproof::to_json(request.call);
  body["arena"] = request.arena;
  body["modes"] = std::move(modes);
  return body;
}

RunRequest run_request_from_json(const Json& body) {
  const JsonObject object(body, "request to the reference worker");
  if (object.string("request") != "run") object.fail("request", "is not `run`");
  RunRequest request;
  request.program = object.string("program");
  if (object.has("fragment")) request.fragment = object.raw("fragment");
  request.call = call_record_from_json(object.object("call"));
  request.arena = object.raw("arena");
  for (const std::string& name : object.strings("modes")) {
    request.modes.push_back(mode_from_name(object, name));
  }
  return request;
}

Json result_to_json(const ReferenceResult& result) {
  Json runs = Json::array();
  for (const ReferenceRun& run : result.runs) runs.push_back(run_to_json(run));
  Json python_nodes = Json::array();
  for (const auto& [node, target] : result.python_nodes) {
    python_nodes.push_back({{"node", node}, {"target", target}});
  }
  return {{"reply", "result"},
          {"runs", std::move(runs)},
          {"arena", result.arena->description()},
          {"python_nodes", std::move(python_nodes)}};
}

Json error_to_json(const Error& error) {
  return {
      {"reply", "error"}, {"kind", error_kind_info(error.kind()).name}, {"message", error.what()}};
}

Json unknown_program_to_json() { return {{"reply", "unknown_program"}}; }

bool is_unknown_program(const Json& reply) {
  return JsonObject(reply, "reply of the reference worker").string("reply") == "unknown_program";
}

ReferenceResult result_from_message(Channel::Message& message) {
  const JsonObject reply(message.body, "reply of the reference worker");
  if (reply.string("reply") == "error") {
    throw Error(error_kind_from_name(reply.string("kind")), reply.string("message"));
  }
  if (reply.string("reply") != "result" || message.fds.size() != 1) {
    reply.fail("reply", "is no result with one arena");
  }
  ReferenceResult result;
  result.arena = std::make_shared<Arena>(
      Arena::attach(message.fds[0].release(), reply.raw("arena"), Arena::Sharing::kShared));
  for (const JsonObject& run : reply.objects("runs")) {
    result.runs.push_back(run_from_json(run, result.arena->storage_count()));
  }
  for (const JsonObject& node : reply.objects("python_nodes")) {
    result.python_nodes.push_back({node.string("node"), node.string("target")});
  }
  return result;
}

}  // namespace fuseproof::reference_protocol
