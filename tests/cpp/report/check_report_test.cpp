#include "report/check_report.h"

#include <doctest/doctest.h>

using namespace fuseproof;

namespace {

SiteResult site(Verdict verdict, const std::string& cann_line) {
  SiteResult result;
  result.address = {"p0", "000_cpp_fused_add_0"};
  result.kernel = "cpp_fused_add_0";
  result.verdict = verdict;
  OutputResult output;
  output.argument = "out_ptr0";
  output.judgement.verdict = verdict;
  output.cann_line = cann_line;
  result.outputs.push_back(output);
  return result;
}

bool passes(const std::vector<SiteResult>& results) {
  CheckSummary summary;
  summary.criteria = "cann";
  const std::string text = check_report_text(results, summary);
  const bool passed = text.ends_with("Precision check passed.\n");
  CHECK(passed != text.ends_with("Precision check failed.\n"));
  return passed;
}

}  // namespace

TEST_CASE("the cann check passes where something was compared and nothing is left open") {
  const SiteResult good = site(Verdict::kMatch, "precision PASSED");
  CHECK(passes({good}));
  CHECK_FALSE(passes({}));
  CHECK_FALSE(passes({site(Verdict::kMatch, "")}));
  CHECK_FALSE(passes({good, site(Verdict::kKernelWrong, "precision FAILED")}));
  CHECK_FALSE(passes({good, site(Verdict::kNotChecked, "")}));
  SiteResult broken = site(Verdict::kNotChecked, "");
  broken.error = ErrorKind::kBadInput;
  CHECK_FALSE(passes({good, broken}));
}

TEST_CASE("a stranger's message cannot steer the terminal") {
  SiteResult result = site(Verdict::kKernelWrong, "");
  result.message = "wrong \x1b]0;title\x07";
  result.kernel = "cpp\x1b[2J";
  const std::string text = check_report_text({result}, CheckSummary{});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
  CHECK(text.find("wrong ]0;title") != std::string::npos);
}

TEST_CASE("where a kernel has several calls, the worst one is named") {
  SiteResult result = site(Verdict::kKernelWrong, "");
  CHECK(check_report_text({result}, CheckSummary{}).find("CALL") == std::string::npos);
  result.call = 2;
  result.calls = 3;
  const std::string text = check_report_text({site(Verdict::kMatch, ""), result}, CheckSummary{});
  CHECK(text.find("CALL") != std::string::npos);
  CHECK(text.find("kernel_wrong in calls/2.json, one of 3") != std::string::npos);
  const Json json = check_report_json({result}, CheckSummary{});
  CHECK(json["results"][0]["call"] == 2);
  CHECK(json["results"][0]["calls"] == 3);
}

TEST_CASE("a match of some outputs does not look like a match of all") {
  SiteResult part = site(Verdict::kMatch, "");
  part.live_outputs = 2;
  part.live_outputs_checked = 1;
  SiteResult whole = part;
  whole.live_outputs_checked = 2;
  const std::string text = check_report_text({part, whole}, CheckSummary{});
  CHECK(text.find("match (1 of 2 outputs)") != std::string::npos);
  CHECK(text.find("(2 of 2 outputs)") == std::string::npos);
  CHECK(text.find("2 match; 1 of them with outputs that are not checked\n") != std::string::npos);
  const Json json = check_report_json({part}, CheckSummary{});
  CHECK(json["results"][0]["verdict"] == "match");
  CHECK(json["results"][0]["live_outputs"] == 2);
  CHECK(json["results"][0]["live_outputs_checked"] == 1);
}
