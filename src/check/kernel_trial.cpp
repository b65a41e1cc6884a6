#include "check/kernel_trial.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace fuseproof {
namespace {

using Bytes = std::vector<std::byte>;

Bytes copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

// Bytes of one storage in which two runs over different poison differ.
struct Disagreement {
  std::size_t unwritten = 0;  // each run's own poison is still there
  std::size_t other = 0;
};

class KernelTrial {
 public:
  KernelTrial(const SiteBundle& site, const CallRecord& call, const CallImage& image,
              KernelRunner& kernels, const RunLimits& limits, Arena& arena)
      : site_(site),
        call_(call),
        image_(image),
        kernels_(kernels),
        limits_(limits),
        arena_(arena) {}

  Trial run() {
    if (!run_once(Poison::kFinite)) return std::move(trial_);
    std::vector<Bytes> finite = written_storages();
    if (!run_once(Poison::kNan)) return std::move(trial_);
    compare_runs(std::move(finite));
    return std::move(trial_);
  }

 private:
  void accuse(Verdict verdict, std::string message,
              DifferenceKind difference = DifferenceKind::kNone) {
    trial_.misconduct = {verdict, difference, std::move(message)};
  }

  void note(std::string text) {
    const auto& notes = trial_.notes;
    if (std::find(notes.begin(), notes.end(), text) == notes.end()) {
      trial_.notes.push_back(std::move(text));
    }
  }

  // False when there is nothing more to find out.
  bool run_once(Poison poison) {
    image_.fill_poisoned(arena_, poison);
    const KernelRun run = kernels_.run(site_, call_, arena_, limits_);
    trial_.time_ns = run.time_ns;
    switch (run.outcome) {
      case KernelOutcome::kReturned: break;
      case KernelOutcome::kException: trial_.exception = run.message; break;
      case KernelOutcome::kCrashed: accuse(Verdict::kCrashed, run.message); return false;
      case KernelOutcome::kHung: accuse(Verdict::kHung, run.message); return false;
      case KernelOutcome::kDidNotBuild:
      case KernelOutcome::kDidNotLoad: accuse(Verdict::kDidNotBuild, run.message); return false;
    }
    return stayed_off_guards(run) && stayed_in_its_views(poison) && kept_float_mode(run) &&
           trial_.exception.empty();
  }

  std::string storage_name(std::size_t storage) const {
    for (std::size_t i = 0; i < site_.spec.arguments.size(); ++i) {
      const CallArgument& argument = call_.arguments[i];
      if (argument.kind == CallArgument::Kind::kTensor &&
          argument.storage == static_cast<std::int64_t>(storage)) {
        return fmt::format("{} ({})", site_.spec.arguments[i].name, site_.spec.arguments[i].value);
      }
    }
    return fmt::format("storage {}", storage);
  }

  bool stayed_off_guards(const KernelRun& run) {
    for (const GuardHit& hit : run.guard_hits) {
      const std::string place =
          fmt::format("byte {} of {}, which has {} bytes", hit.byte_offset,
                      storage_name(hit.storage), arena_.storage(hit.storage).size());
      if (hit.is_write) {
        accuse(Verdict::kOutOfBounds, "the kernel writes to " + place);
        return false;
      }
      note("the kernel reads from " + place);
    }
    return true;
  }

  bool stayed_in_its_views(Poison poison) {
    const std::vector<CallImage::Trespass> found = image_.trespasses(arena_, poison);
    if (found.empty()) return true;
    const CallImage::Trespass& trespass = found.front();
    const std::string place = fmt::format("{} bytes of {}, from byte {} on", trespass.changed_bytes,
                                          storage_name(trespass.storage), trespass.first_byte);
    if (trespass.is_input) {
      accuse(Verdict::kKernelWrong, "the kernel changes a read-only input: " + place,
             DifferenceKind::kMutation);
    } else {
      accuse(Verdict::kOutOfBounds, "the kernel writes between the rows of an output: " + place);
    }
    return false;
  }

  bool kept_float_mode(const KernelRun& run) {
    constexpr std::uint32_t kStatusFlags = 0x3f;
    const std::uint32_t before = call_.mxcsr & ~kStatusFlags;
    const std::uint32_t after = run.mxcsr_after & ~kStatusFlags;
    if (before == after) return true;
    accuse(Verdict::kKernelWrong,
           fmt::format("the kernel leaves another floating-point mode behind (MXCSR {:#x}, was "
                       "{:#x})",
                       after, before),
           DifferenceKind::kSideEffect);
    return false;
  }

  // Empty where the kernel writes nothing: that it did not is known already.
  std::vector<Bytes> written_storages() const {
    std::vector<Bytes> copies(arena_.storage_count());
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (image_.is_written(i)) copies[i] = copy_of(arena_.storage(i));
    }
    return copies;
  }

  Disagreement disagreement(std::size_t storage, const Bytes& finite,
                            std::span<const std::byte> nan) const {
    Disagreement result;
    for (std::size_t byte = 0; byte < nan.size(); ++byte) {
      // What the kernel may not write was compared with what stood there before.
      if (nan[byte] == finite[byte] || !image_.is_written(storage, byte)) continue;
      const bool is_unwritten = image_.is_poisoned(storage, byte) &&
                                nan[byte] == image_.poison_byte(storage, byte, Poison::kNan) &&
                                finite[byte] == image_.poison_byte(storage, byte, Poison::kFinite);
      ++(is_unwritten ? result.unwritten : result.other);
    }
    return result;
  }

  bool is_observed(std::size_t storage) const {
    return std::any_of(site_.fragment.outputs.begin(), site_.fragment.outputs.end(),
                       [&](const FragmentOutput& output) {
                         const auto index = static_cast<std::size_t>(output.argument);
                         return output.is_live && call_.arguments[index].storage ==
                                                      static_cast<std::int64_t>(storage);
                       });
  }

  void compare_runs(std::vector<Bytes> finite) {
    std::vector<std::size_t> suspects;
    for (std::size_t storage = 0; storage < finite.size(); ++storage) {
      const std::span<const std::byte> nan = arena_.storage(storage);
      if (!image_.is_written(storage) || std::ranges::equal(nan, finite[storage])) continue;
      const Disagreement found = disagreement(storage, finite[storage], nan);
      if (found.unwritten > 0 && !accept_unwritten(storage, found.unwritten)) return;
      if (found.other > 0) suspects.push_back(storage);
    }
    if (!suspects.empty()) explain(suspects, finite);
  }

  bool accept_unwritten(std::size_t storage, std::size_t bytes) {
    const std::string text =
        fmt::format("the kernel leaves {} bytes of {} unwritten", bytes, storage_name(storage));
    if (is_observed(storage)) {
      accuse(Verdict::kKernelWrong, text, DifferenceKind::kValue);
      return false;
    }
    note(text + ", a temporary of its own");
    return true;
  }

  // Further runs over the same poison tell the influence of uninitialised memory, which repeats
  // itself, from nondeterminism, which does so now and then by chance: two threads that add to one
  // element have few orders to choose from.
  void explain(const std::vector<std::size_t>& suspects, std::vector<Bytes>& finite) {
    constexpr int kRepeats = 4;
    std::map<std::size_t, Bytes> nan;
    for (const std::size_t storage : suspects) nan[storage] = copy_of(arena_.storage(storage));
    std::set<std::size_t> wavering;
    for (int run = 0; run < 2 * kRepeats && wavering.size() < suspects.size(); ++run) {
      const Poison poison = run % 2 == 0 ? Poison::kFinite : Poison::kNan;
      if (!run_once(poison)) return;
      for (const std::size_t storage : suspects) {
        const Bytes& expected = poison == Poison::kFinite ? finite[storage] : nan[storage];
        if (!std::ranges::equal(arena_.storage(storage), expected)) wavering.insert(storage);
      }
    }
    for (const std::size_t storage : suspects) {
      if (!wavering.contains(storage)) return accuse_of_reading(storage);
      std::string message = fmt::format("two runs on the same inputs leave different bytes in {}",
                                        storage_name(storage));
      if (site_.fragment.failure.empty() && !is_observed(storage)) {
        note(message + ", a temporary of its own");
        continue;
      }
      const bool is_nan_run = std::ranges::equal(arena_.storage(storage), nan[storage]);
      trial_.other_runs[storage] = {.bytes = std::move(is_nan_run ? finite[storage] : nan[storage]),
                                    .message = std::move(message)};
    }
  }

  void accuse_of_reading(std::size_t storage) {
    accuse(Verdict::kKernelWrong,
           fmt::format("the kernel's result depends on what {} held before it was written",
                       storage_name(storage)),
           DifferenceKind::kValue);
  }

  const SiteBundle& site_;
  const CallRecord& call_;
  const CallImage& image_;
  KernelRunner& kernels_;
  const RunLimits& limits_;
  Arena& arena_;
  Trial trial_;
};

}  // namespace

Trial try_kernel(const SiteBundle& site, const CallRecord& call, const CallImage& image,
                 KernelRunner& kernels, const RunLimits& limits, Arena& arena) {
  return KernelTrial(site, call, image, kernels, limits, arena).run();
}

}  // namespace fuseproof
