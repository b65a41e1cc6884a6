#include "kernels/inductor_cpp/inductor_cpp_runner.h"

#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "kernels/inductor_cpp/cpu_features.h"
#include "tensor/hash.h"

namespace fuseproof {
namespace {

std::string kernel_json(const SiteBundle& site) { return (site.folder / "kernel.json").string(); }

[[noreturn]] void fail(const SiteBundle& site, const char* field, const std::string& problem) {
  throw Error(ErrorKind::kBadInput,
              fmt::format("{}: field `artifact.{}`: {}", kernel_json(site), field, problem));
}

// kernel.json names only files of the site's own folder.
Path file_of(const SiteBundle& site, const std::string& name) {
  return std::filesystem::absolute(site.folder / name);
}

// Signatures of Inductor's kernels hold pointers, int64_t, float and double.
bool is_single_precision(const std::string& type) {
  return type == "float" || type == "const float";
}

SandboxArgument to_sandbox(const CallArgument& argument, const std::string& type) {
  SandboxArgument result;
  switch (argument.kind) {
    case CallArgument::Kind::kTensor:
      result.kind = SandboxArgument::Kind::kPointer;
      result.storage = static_cast<std::size_t>(argument.storage);
      result.byte_offset = argument.layout.offset *
                           static_cast<std::int64_t>(dtype_size_bytes(argument.layout.dtype));
      break;
    case CallArgument::Kind::kInteger:
      result.kind = SandboxArgument::Kind::kInteger;
      result.integer = argument.integer;
      break;
    case CallArgument::Kind::kFloat:
      result.kind = is_single_precision(type) ? SandboxArgument::Kind::kFloat
                                              : SandboxArgument::Kind::kDouble;
      result.number = argument.number;
      break;
  }
  return result;
}

SandboxRequest request_for(const SiteBundle& site, const CallRecord& call, const Path& object,
                           const RunLimits& limits) {
  const std::vector<KernelArgument>& signature = site.spec.arguments;
  // Constants of the fragment follow the kernel's own arguments.
  if (call.arguments.size() < signature.size()) {
    throw Error(
        ErrorKind::kBadInput,
        fmt::format("{}: call {} has {} arguments, and the kernel takes {}", kernel_json(site),
                    call.index, call.arguments.size(), signature.size()));
  }
  SandboxRequest request;
  request.object = object;
  request.entry = site.spec.artifact.entry;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    request.arguments.push_back(to_sandbox(call.arguments[i], signature[i].type));
  }
  request.threads = call.threads;
  request.mxcsr = call.mxcsr;
  request.limits = {.cpu_seconds = limits.cpu_seconds,
                    .wall_seconds = limits.wall_seconds,
                    .memory_bytes = limits.memory_bytes};
  return request;
}

KernelOutcome to_kernel(SandboxOutcome outcome) {
  switch (outcome) {
    case SandboxOutcome::kReturned: return KernelOutcome::kReturned;
    case SandboxOutcome::kException: return KernelOutcome::kException;
    case SandboxOutcome::kCrashed: return KernelOutcome::kCrashed;
    case SandboxOutcome::kHung: return KernelOutcome::kHung;
    case SandboxOutcome::kDidNotLoad: return KernelOutcome::kDidNotLoad;
  }
  throw Error(ErrorKind::kInternal, "an outcome of the sandbox without a meaning");
}

void append(std::string& text, const std::string& separator, const std::string& more) {
  if (more.empty()) return;
  text += text.empty() ? more : separator + more;
}

std::string message_of(const SandboxReport& report) {
  std::string message = report.message;
  if (report.outcome == SandboxOutcome::kException) {
    message = report.exception_type + ": " + report.message;
  }
  if (report.outcome == SandboxOutcome::kCrashed || report.outcome == SandboxOutcome::kHung) {
    append(message, "; stderr: ", report.error_output);
  }
  append(message, "; ", report.note);
  return message;
}

// Pages first, in the order of the accesses; bands have no order.
std::vector<GuardHit> guard_hits(const SandboxReport& report, const Arena& arena) {
  std::vector<GuardHit> hits;
  for (const SandboxGuardHit& hit : report.guard_hits) {
    hits.push_back({hit.storage, hit.byte_offset, hit.is_write});
  }
  for (const Arena::BandDamage& damage : arena.damaged_bands()) {
    hits.push_back({damage.storage, damage.first_byte, true});
  }
  return hits;
}

}  // namespace

InductorCppRunner::InductorCppRunner(FileSystem& files, InductorCppOptions options)
    : files_(files),
      options_(std::move(options)),
      builder_(files, options_.builder),
      sandbox_({.runner = options_.runner,
                .torch_lib = options_.builder.torch.lib,
                .is_cancelled = options_.builder.is_cancelled}) {}

void InductorCppRunner::start() {
  try {
    sandbox_.start();
  } catch (const Error&) {
    // The first call tries again, and says what is wrong.
  }
}

KernelRun InductorCppRunner::prepare(const SiteBundle& site) {
  Prepared prepared = prepare_anew(site);
  return prepared_.insert_or_assign(site.folder, std::move(prepared)).first->second.run;
}

InductorCppRunner::Prepared InductorCppRunner::prepare_anew(const SiteBundle& site) {
  const Artifact& artifact = site.spec.artifact;
  if (artifact.kind != "inductor_cpp") {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: field `artifact.kind`: \"{}\" is no kernel of Inductor's C++",
                            kernel_json(site), artifact.kind));
  }
  const Path source = file_of(site, artifact.source_file);
  if (!files_.exists(source)) fail(site, "source_file", source.string() + " does not exist");
  if (xxh128_hex(files_.map(source)->bytes()) != artifact.source_hash) {
    return rebuild(site, fmt::format("{} was edited since it was recorded", artifact.source_file),
                   Blame::kKernel);
  }
  if (artifact.object_file.empty()) {
    return rebuild(
        site,
        artifact.build_error.empty() ? "no object was recorded" : "the program could not build it",
        Blame::kKernel);
  }
  const Path object = file_of(site, artifact.object_file);
  const bool is_other_cpu = options_.recorded_cpu != options_.builder.cpu;
  if (!files_.exists(object)) {
    return rebuild(site, fmt::format("{} is absent", artifact.object_file),
                   is_other_cpu ? Blame::kMachine : Blame::kKernel);
  }
  if (xxh128_hex(files_.map(object)->bytes()) != artifact.object_hash) {
    fail(site, "object_hash",
         fmt::format("{} is not the object that was recorded. Restore it, or delete it to have it "
                     "rebuilt",
                     object.string()));
  }
  if (is_other_cpu) {
    return rebuild(site,
                   fmt::format("recorded on another CPU ({}; this one: {})", options_.recorded_cpu,
                               options_.builder.cpu),
                   Blame::kMachine);
  }
  Prepared prepared;
  prepared.run.object = "recorded";
  prepared.object = object;
  return prepared;
}

InductorCppRunner::Prepared InductorCppRunner::rebuild(const SiteBundle& site, std::string reason,
                                                       Blame blame) {
  const Artifact& artifact = site.spec.artifact;
  if (const auto flag = missing_cpu_feature(artifact.recipe.flags)) {
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("{}: the kernel is built with -{}, and this CPU has no such instructions. "
                    "Check the run on the machine where it was recorded",
                    kernel_json(site), *flag));
  }
  const BuildResult built =
      builder_.build(file_of(site, artifact.source_file), artifact.recipe, kernel_json(site));
  Prepared prepared;
  prepared.run.message = std::move(reason);
  if (!built.succeeded) {
    append(prepared.run.message, "; ", built.error);
    append(prepared.run.message, "\n", "to reproduce: " + built.command);
    if (blame == Blame::kMachine) {
      throw Error(ErrorKind::kUnsupported,
                  fmt::format("{}: the kernel was built where it was recorded and cannot be built "
                              "here: {}",
                              kernel_json(site), prepared.run.message));
    }
    prepared.run.outcome = KernelOutcome::kDidNotBuild;
    return prepared;
  }
  prepared.run.object = built.was_cached ? "cache" : "rebuilt";
  if (!prepared.run.message.empty()) prepared.run.message += ": rebuilt";
  prepared.object = built.object;
  return prepared;
}

KernelRun InductorCppRunner::run(const SiteBundle& site, const CallRecord& call, Arena& arena,
                                 const RunLimits& limits) {
  if (!prepared_.contains(site.folder)) prepare(site);
  const Prepared& prepared = prepared_.at(site.folder);
  if (prepared.object.empty()) return prepared.run;
  arena.fill_bands();  // what an earlier call damaged is not this call's
  const SandboxReport report =
      sandbox_.call(request_for(site, call, prepared.object, limits), arena);
  KernelRun result;
  result.outcome = to_kernel(report.outcome);
  result.message = message_of(report);
  result.guard_hits = guard_hits(report, arena);
  result.mxcsr_after = report.mxcsr_after;
  result.time_ns = report.time_ns;
  result.object = prepared.run.object;
  return result;
}

}  // namespace fuseproof
