#include "check/engine.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

// Kernels of a sub-graph are called where its operator calls the graph.
std::string without_calls(const SiteBundle& site) {
  const bool is_of_subgraph = site.spec.graph.find('.') != std::string::npos;
  if (!is_of_subgraph) return "no call of it was recorded";
  return "no call of it was recorded: it belongs to a branch of a cond or to the body of a loop, "
         "which the program did not enter while it was captured. Capture the model with inputs "
         "that lead there";
}

SiteResult unjudged(const SiteBundle& site, Verdict verdict, std::string message) {
  SiteResult result;
  result.address = site.address;
  result.kernel = site.spec.kernel;
  result.user_line = last_user_line(site.fragment.graph);
  result.verdict = verdict;
  result.stage = verdict_stage(verdict, Stage::kNone);
  result.message = std::move(message);
  return result;
}

bool is_worse(const SiteResult& a, const SiteResult& b) {
  return a.verdict != b.verdict && worse(a.verdict, b.verdict) == a.verdict;
}

SiteResult unchecked(const SiteAddress& address, ErrorKind kind, std::string message) {
  SiteResult result;
  result.address = address;
  result.kernel = address.site.substr(address.site.find('_') + 1);
  result.message = std::move(message);
  // What this build or this machine cannot compute is a limit of the check, not a fault to report.
  if (kind != ErrorKind::kUnsupported) result.error = kind;
  return result;
}

// What `check` finds; a fault of the bundle or of this installation becomes part of the result.
template <typename Check>
SiteResult checked_or_explained(const SiteAddress& address, Check&& check) {
  try {
    return check();
  } catch (const Error& error) {
    return unchecked(address, error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    return unchecked(address, ErrorKind::kUnsupported,
                     "not enough memory to check this kernel; try again with fewer --jobs or on a "
                     "machine with more");
  } catch (const std::exception& error) {
    return unchecked(address, ErrorKind::kInternal,
                     fmt::format("internal error of Fuseproof: {}", error.what()));
  }
}

// The worse of two calls' results. An error of either stays, beside what the other found; so does
// that one of them was not judged.
SiteResult combined(SiteResult a, SiteResult b) {
  const bool is_b = is_worse(b, a);
  SiteResult& kept = is_b ? b : a;
  const SiteResult& other = is_b ? a : b;
  const bool is_judged = kept.verdict != Verdict::kNotChecked;
  const bool is_new_error = other.error && !kept.error;
  if (is_new_error) kept.error = other.error;
  if (!other.error) kept.faults_of_other_calls.merge(other.faults());
  if (is_new_error || (is_judged && other.verdict == Verdict::kNotChecked && !other.error)) {
    kept.notes.push_back(fmt::format("call {}: {}", other.call, other.message));
  }
  return std::move(kept);
}

SiteResult check_calls(const RunReader& run, const SiteBundle& site, Workbench& workbench,
                       const CheckSettings& settings) {
  std::optional<SiteResult> worst;
  for (const std::int64_t call : site.calls) {
    SiteResult result = checked_or_explained(site.address, [&] {
      return check_call(run, site, call, *workbench.kernels, *workbench.reference, settings);
    });
    result.call = call;
    worst = worst ? combined(std::move(*worst), std::move(result)) : std::move(result);
  }
  return std::move(*worst);
}

SiteResult check_site(const RunReader& run, const SiteAddress& address, Workbench& workbench,
                      const CheckSettings& settings) {
  const SiteBundle site = run.read_site(address);
  const KernelRun prepared = workbench.kernels->prepare(site);
  if (prepared.outcome != KernelOutcome::kReturned) {
    return unjudged(site, Verdict::kDidNotBuild, prepared.message);
  }
  if (site.calls.empty()) {
    return unjudged(site, Verdict::kNotChecked, without_calls(site));
  }
  SiteResult result = check_calls(run, site, workbench, settings);
  result.calls = std::ssize(site.calls);
  if (!prepared.message.empty()) result.notes.push_back(prepared.message);
  return result;
}

// The sites of a run, dealt out to workers; the first error ends the dealing.
class Dealer {
 public:
  Dealer(const RunReader& run, const std::vector<SiteAddress>& sites, const CheckPlan& plan)
      : run_(run), sites_(sites), plan_(plan), results_(sites.size()) {}

  void work(const WorkbenchFactory& make_workbench) {
    try {
      Workbench workbench = make_workbench();
      workbench.kernels->start();
      workbench.reference->start();
      while (const std::optional<std::size_t> index = take()) {
        const SiteAddress& site = sites_[*index];
        SiteResult result = checked_or_explained(
            site, [&] { return check_site(run_, site, workbench, plan_.settings); });
        // What was ended in the middle says nothing about the kernel.
        if (result.error && plan_.is_cancelled()) return;
        finish(*index, std::move(result));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  std::vector<SiteResult> take_results() {
    if (error_) std::rethrow_exception(error_);
    std::vector<SiteResult> results;
    for (std::optional<SiteResult>& result : results_) {
      if (result) results.push_back(std::move(*result));
    }
    return results;
  }

 private:
  std::optional<std::size_t> take() {
    const std::lock_guard lock(mutex_);
    if (error_ || next_ == sites_.size() || plan_.is_cancelled()) return std::nullopt;
    return next_++;
  }

  void finish(std::size_t index, SiteResult result) {
    const std::lock_guard lock(mutex_);
    results_[index] = std::move(result);
    ++done_;
    if (plan_.progress) plan_.progress(done_, sites_.size(), *results_[index]);
  }

  const RunReader& run_;
  const std::vector<SiteAddress>& sites_;
  const CheckPlan& plan_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::size_t done_ = 0;
  std::vector<std::optional<SiteResult>> results_;
  std::exception_ptr error_;
};

}  // namespace

std::vector<SiteResult> check_sites(const RunReader& run, const std::vector<SiteAddress>& sites,
                                    const WorkbenchFactory& workbench, const CheckPlan& plan) {
  Dealer dealer(run, sites, plan);
  const std::size_t jobs = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(plan.jobs, 1)),
                                                   1, std::max<std::size_t>(sites.size(), 1));
  std::vector<std::jthread> helpers;
  helpers.reserve(jobs);
  try {
    while (helpers.size() + 1 < jobs) helpers.emplace_back([&] { dealer.work(workbench); });
  } catch (const std::system_error&) {
    // The threads that did start, and this one, do all the work.
  }
  dealer.work(workbench);
  helpers.clear();  // waits for them
  return dealer.take_results();
}

}  // namespace fuseproof
