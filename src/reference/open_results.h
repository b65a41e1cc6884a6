// What PyTorch's documentation leaves open, found in a run of a program.
//
// Such operators run as they do natively, and then get other values of the result's dtype where it
// is open, drawn at random. Outputs that differ from the native run's hang on what is open, and a
// kernel may give there what it likes.
#pragma once

#include <set>
#include <string>

#include <ATen/core/Generator.h>

#include "reference/interpreter.h"

namespace fuseproof {

class OpenResultsPolicy : public StepPolicy {
 public:
  // Equal seeds draw equal values.
  explicit OpenResultsPolicy(std::uint64_t seed);

  void execute(const Step& step, torch::jit::Stack& stack) override;

  // Of each kind of open result met, the sentence that leaves it open.
  const std::set<std::string>& sentences() const { return sentences_; }

 private:
  // Draws content for a tensor that nobody has written yet.
  void draw_content(const at::Tensor& content);
  // The values of `result`; where `is_open`, values that differ from it.
  at::Tensor drawn(const at::Tensor& result, const at::Tensor& is_open);

  at::Generator generator_;
  std::set<std::string> sentences_;
};

}  // namespace fuseproof
