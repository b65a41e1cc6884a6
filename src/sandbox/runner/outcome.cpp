#include "sandbox/runner/outcome.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::size_t kErrorOutputBytes = 4096;

// Text that another process wrote, and may have left without an end.
template <std::size_t kSize>
std::string text_of(const std::array<char, kSize>& text) {
  return {text.data(), ::strnlen(text.data(), kSize)};
}

std::string tail(int fd) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return "";
  const off_t begin = std::max<off_t>(0, status.st_size - static_cast<off_t>(kErrorOutputBytes));
  std::string text(static_cast<std::size_t>(status.st_size - begin), '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), begin);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

bool is_same_page_and_kind(const GuardRecord& a, const GuardRecord& b) {
  return a.arena_offset / kPageBytes == b.arena_offset / kPageBytes && a.is_write == b.is_write;
}

// Threads may touch a page at the same moment: one hit a page and kind.
std::vector<SandboxGuardHit> guard_hits(const ResultBlock& result,
                                        std::span<const ArenaSlot> slots) {
  const std::size_t count =
      std::min<std::size_t>(result.guard_record_count, result.guard_records.size());
  const std::span records(result.guard_records.data(), count);
  std::vector<SandboxGuardHit> hits;
  for (auto record = records.begin(); record != records.end(); ++record) {
    const bool is_repeated = std::any_of(records.begin(), record, [&](const GuardRecord& earlier) {
      return is_same_page_and_kind(earlier, *record);
    });
    const auto slot = std::find_if(slots.begin(), slots.end(), [&](const ArenaSlot& candidate) {
      return record->arena_offset >= candidate.begin && record->arena_offset < candidate.end;
    });
    if (is_repeated || slot == slots.end()) continue;
    hits.push_back({.storage = static_cast<std::size_t>(slot - slots.begin()),
                    .byte_offset = static_cast<std::int64_t>(record->arena_offset) -
                                   static_cast<std::int64_t>(slot->offset),
                    .is_write = record->is_write});
  }
  return hits;
}

bool is_over_cpu_limit(const SandboxRequest& request, const ChildEnd& end) {
  if (request.limits.cpu_seconds == 0 || !WIFSIGNALED(end.wait_status)) return false;
  if (WTERMSIG(end.wait_status) == SIGXCPU) return true;
  return WTERMSIG(end.wait_status) == SIGKILL &&
         end.cpu_seconds >= static_cast<double>(request.limits.cpu_seconds) * request.threads;
}

std::string_view when(Stage stage) {
  return stage == Stage::kCalling ? "" : " while the object was being loaded";
}

std::string death_text(const ChildEnd& end, const ResultBlock& result) {
  if (!WIFSIGNALED(end.wait_status)) {
    return fmt::format("the code ended its process with exit status {} instead of returning{}",
                       WEXITSTATUS(end.wait_status), when(result.stage));
  }
  const int number = WTERMSIG(end.wait_status);
  const char* name = ::sigabbrev_np(number);
  std::string text = fmt::format("SIG{} ({})", name ? name : std::to_string(number),
                                 ::sigdescr_np(number) ? ::sigdescr_np(number) : "no description");
  if ((number == SIGSEGV || number == SIGBUS) && result.has_fault_address) {
    text += fmt::format(" at address {:#x}", result.fault_address);
  }
  if (number == SIGKILL) text += "; the system may have run out of memory";
  return text + std::string(when(result.stage));
}

bool is_final(Stage stage) {
  return stage == Stage::kReturned || stage == Stage::kException || stage == Stage::kDidNotLoad ||
         stage == Stage::kSetupFailed;
}

SandboxOutcome final_outcome(Stage stage) {
  if (stage == Stage::kReturned) return SandboxOutcome::kReturned;
  if (stage == Stage::kException) return SandboxOutcome::kException;
  return SandboxOutcome::kDidNotLoad;
}

}  // namespace

SandboxReport make_report(const SandboxRequest& request, std::span<const ArenaSlot> slots,
                          const ChildEnd& end, const ResultBlock& result, int error_output_fd) {
  SandboxReport report;
  report.guard_hits = guard_hits(result, slots);
  report.error_output = tail(error_output_fd);
  const Stage stage = result.stage;
  const bool exited_well = WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) == 0;
  if (is_final(stage) && exited_well) {
    if (stage == Stage::kSetupFailed) {
      throw Error(ErrorKind::kInternal, fmt::format("the sandbox of {} could not be set up: {}",
                                                    request.object.string(), text_of(result.text)));
    }
    report.outcome = final_outcome(stage);
    report.message = text_of(result.text);
    report.exception_type = text_of(result.type);
    report.mxcsr_after = result.mxcsr_after;
    report.time_ns = result.time_ns;
    return report;
  }
  if (end.how == ChildEnd::How::kWallLimit) {
    report.outcome = SandboxOutcome::kHung;
    report.message = fmt::format("killed after the wall limit of {} s{}",
                                 request.limits.wall_seconds, when(stage));
    return report;
  }
  if (is_over_cpu_limit(request, end)) {
    report.outcome = SandboxOutcome::kHung;
    report.message = fmt::format("killed at the CPU-time limit of {} s for each of {} threads{}",
                                 request.limits.cpu_seconds, request.threads, when(stage));
    return report;
  }
  report.outcome = SandboxOutcome::kCrashed;
  report.message = death_text(end, result);
  return report;
}

}  // namespace fuseproof
