// What the reference worker is asked and what it answers, over a Channel. Free of torch.
//
//   request  {"request": "run", "program": hash, "fragment": {…}, "call": {…}, "arena": {…},
//             "modes": ["native", "float64"]}             and the input arena's descriptor
//   reply    {"reply": "result", "arena": {…}, "runs": [{"exception", "no_oracle",
//             "outputs": [{"storage", "layout"}]}],
//             "python_nodes": [{"node", "target"}]}         and the output arena's descriptor
//   reply    {"reply": "unknown_program"}                 the fragment must be sent again: a
//                                                         worker keeps a bounded number
//   reply    {"reply": "error", "kind", "message"}
//
// `program` is a hash of the fragment's JSON. A request whose fragment the worker has seen leaves
// it out: preparing a fragment costs more than running it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/channel.h"
#include "base/error.h"
#include "bundle/runners.h"

namespace fuseproof::reference_protocol {

struct RunRequest {
  std::string program;
  std::optional<Json> fragment;  // as to_json(Fragment) writes it
  CallRecord call;
  Json arena;  // Arena::description()
  std::vector<ReferenceMode> modes;
};

Json to_json(const RunRequest& request);
// Throws kBadInput.
RunRequest run_request_from_json(const Json& body);

Json result_to_json(const ReferenceResult& result);
Json error_to_json(const Error& error);
Json unknown_program_to_json();

bool is_unknown_program(const Json& reply);
// Takes the output arena's descriptor from the message. Throws the worker's error when the reply is
// one, and kBadInput for a malformed reply.
ReferenceResult result_from_message(Channel::Message& message);

}  // namespace fuseproof::reference_protocol
