#include "check/baseline.h"

#include <doctest/doctest.h>

#include "base/error.h"

using namespace fuseproof;

namespace {

OutputResult output(const std::string& argument, Verdict verdict) {
  OutputResult result;
  result.argument = argument;
  result.judgement.verdict = verdict;
  if (verdict == Verdict::kKernelWrong) result.judgement.difference = DifferenceKind::kValue;
  return result;
}

SiteResult wrong(const std::string& kernel, const std::string& line,
                 const std::vector<std::string>& arguments = {"out_ptr0"}) {
  SiteResult result;
  result.address = {"p0", "000_" + kernel};
  result.kernel = kernel;
  result.user_line = line;
  result.verdict = Verdict::kKernelWrong;
  result.stage = Stage::kKernel;
  result.difference = DifferenceKind::kValue;
  for (const std::string& name : arguments) {
    result.outputs.push_back(output(name, Verdict::kKernelWrong));
  }
  result.outputs.push_back(output("out_ptr9", Verdict::kMatch));
  return result;
}

Baseline baseline_of(const std::vector<SiteResult>& results) {
  Json list = Json::array();
  for (const SiteResult& result : results) list.push_back(to_json(result));
  return Baseline({{"results", std::move(list)}}, "baseline.json");
}

struct Marked {
  std::vector<bool> known;
  std::size_t unmet = 0;
};

Marked marked(const std::vector<SiteResult>& before, std::vector<SiteResult> now) {
  Marked result;
  result.unmet = baseline_of(before).mark_known(now);
  for (const SiteResult& site : now) result.known.push_back(site.is_known);
  return result;
}

}  // namespace

TEST_CASE("a finding is known where kernel's number and the line's place have changed") {
  const Marked result =
      marked({wrong("cpp_fused_relu_3", "model.py:10: x = torch.relu(x)")},
             {wrong("cpp_fused_relu_12", "layers/model.py:31: x = torch.relu(x)")});
  CHECK(result.known == std::vector<bool>{true});
  CHECK(result.unmet == 0);
}

TEST_CASE("another kernel, line, verdict or difference is new") {
  const SiteResult before = wrong("cpp_fused_relu_3", "a.py:1: x = relu(x)");
  CHECK_FALSE(marked({before}, {wrong("cpp_fused_add_3", "a.py:1: x = relu(x)")}).known[0]);
  CHECK_FALSE(marked({before}, {wrong("cpp_fused_relu_3", "a.py:1: y = relu(y)")}).known[0]);
  SiteResult crashed = wrong("cpp_fused_relu_3", "a.py:1: x = relu(x)", {});
  crashed.verdict = Verdict::kCrashed;
  CHECK_FALSE(marked({before}, {crashed}).known[0]);
  SiteResult nan = before;
  nan.difference = nan.outputs[0].judgement.difference = DifferenceKind::kNan;
  CHECK_FALSE(marked({before}, {nan}).known[0]);
}

TEST_CASE("an entry stands for one finding") {
  const SiteResult before = wrong("cpp_fused_relu_3", "a.py:1: x = relu(x)");
  CHECK(marked({before}, {before, before}).known == std::vector<bool>{true, false});
  CHECK(marked({before, before}, {before}).unmet == 1);
}

TEST_CASE("another wrong output of the same kernel is new, one fewer is known") {
  const std::string line = "a.py:1: x = relu(x)";
  const SiteResult one = wrong("cpp_fused_relu_3", line);
  const SiteResult two = wrong("cpp_fused_relu_3", line, {"out_ptr0", "out_ptr1"});
  CHECK_FALSE(marked({one}, {two}).known[0]);
  CHECK(marked({two}, {one}).known[0]);
}

TEST_CASE("no wide entry is spent on a finding that another has as it is") {
  const std::string line = "a.py:1: x = relu(x)";
  const SiteResult one = wrong("cpp_fused_relu_3", line);
  const SiteResult two = wrong("cpp_fused_relu_3", line, {"out_ptr0", "out_ptr1"});
  CHECK(marked({two, one}, {one, two}).known == std::vector<bool>{true, true});
}

TEST_CASE("a fault of another call is new, too") {
  const SiteResult before = wrong("cpp_fused_relu_3", "a.py:1: x = relu(x)");
  SiteResult now = before;
  now.faults_of_other_calls = {"kernel_wrong value out_ptr1"};
  CHECK_FALSE(marked({before}, {now}).known[0]);
  CHECK(marked({now}, {now}).known[0]);
}

TEST_CASE("a finding without an output is known by its verdict") {
  SiteResult crashed = wrong("cpp_fused_relu_3", "a.py:1: x = relu(x)", {});
  crashed.verdict = Verdict::kCrashed;
  crashed.difference = DifferenceKind::kNone;
  CHECK(marked({crashed}, {crashed}).known[0]);
}

TEST_CASE("known findings do not fail, new ones and unreadable bundles do") {
  SiteResult known = wrong("cpp_fused_relu_3", "");
  known.is_known = true;
  CHECK(exit_status(std::vector{known}) == 0);
  CHECK(exit_status({known, wrong("cpp_fused_relu_4", "")}) == 1);
  SiteResult damaged;
  damaged.error = ErrorKind::kBadInput;
  CHECK(exit_status({known, damaged}) == 2);
  CHECK(exit_status({known, SiteResult{}}) == 0);
}

TEST_CASE("only findings of a baseline count") {
  SiteResult damaged = wrong("cpp_fused_relu_3", "");
  damaged.error = ErrorKind::kBadInput;
  SiteResult match = wrong("cpp_fused_relu_3", "", {});
  match.verdict = Verdict::kMatch;
  CHECK(marked({damaged, match}, {}).unmet == 0);
}

TEST_CASE("what is no result of a check is refused with file and field") {
  const auto refusal = [](const Json& document) {
    try {
      const Baseline baseline(document, "old.json");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadInput);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refusal(Json::array()).find("old.json") != std::string::npos);
  CHECK(refusal(Json::object()).find("fuseproof check RUN --json") != std::string::npos);
  Json strange = {{"results", {to_json(wrong("cpp_fused_relu_3", ""))}}};
  strange["results"][0]["verdict"] = "perfect";
  CHECK(refusal(strange).find("\"perfect\" is no verdict") != std::string::npos);
  strange["results"][0].erase("verdict");
  CHECK(refusal(strange).find("results[0]") != std::string::npos);
}
