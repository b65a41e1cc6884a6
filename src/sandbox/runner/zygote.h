// The zygote's loop: take a request, fork a child for it, keep the wall limit, answer.
#pragma once

#include "base/channel.h"
#include "base/json.h"
#include "sandbox/request.h"
#include "sandbox/runner/result_block.h"
#include "tensor/arena.h"

namespace fuseproof {

class Zygote {
 public:
  explicit Zygote(Channel channel);
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;
  ~Zygote();

  // Answers requests until the client closes its end.
  void serve();

 private:
  Json answer(Channel::Message message);

  Channel channel_;
  ResultBlock* result_;  // mapped, shared with each child in turn
};

}  // namespace fuseproof
