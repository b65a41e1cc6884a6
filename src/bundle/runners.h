// The two interfaces through which a check computes: one runs the kernel's own artifact, one runs
// the fragment. Both take shared memory that the check has filled, so that the judge's process
// never executes what it judges.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bundle/run.h"
#include "tensor/arena.h"

namespace fuseproof {

enum class KernelOutcome : std::uint8_t {
  kReturned,
  kException,    // a C++ exception left the kernel; message = its what()
  kCrashed,      // a signal; message names it
  kHung,         // over the CPU-time or wall limit
  kDidNotBuild,  // the compiler refused; message = its first error and the command
  kDidNotLoad,   // built, but the dynamic loader refused it
};

struct GuardHit {
  std::size_t storage = 0;       // index of the storage
  std::int64_t byte_offset = 0;  // relative to the storage's first byte
  bool is_write = false;
};

struct KernelRun {
  KernelOutcome outcome = KernelOutcome::kReturned;
  std::string message;
  std::vector<GuardHit> guard_hits;  // pages and bands: reads are notes, writes findings
  std::uint32_t mxcsr_after = 0;
  std::int64_t time_ns = 0;  // of the call alone
  std::string object;        // how the object was had: "recorded", "rebuilt", "cache"
};

struct RunLimits {
  int cpu_seconds = 60;
  int wall_seconds = 120;
  std::uint64_t memory_bytes = 0;  // address space beyond the arena; 0: no limit
};

// Runs a kernel on the storages of an arena, in place.
class KernelRunner {
 public:
  virtual ~KernelRunner() = default;
  // Begins what takes long before a first call, without waiting for it. What goes wrong there is
  // the first call's to report.
  virtual void start() {}
  // Makes the artifact runnable (finds, verifies or builds the object). Not returning an object is
  // a finding about the kernel (kDidNotBuild, kDidNotLoad); Error is for faults of the bundle.
  virtual KernelRun prepare(const SiteBundle& site) = 0;
  // Runs the prepared kernel. `call.arguments` index the arena's storages, which are changed in
  // place. Guard bands and pages are checked afterwards.
  virtual KernelRun run(const SiteBundle& site, const CallRecord& call, Arena& arena,
                        const RunLimits& limits) = 0;
};

// How the reference computes.
enum class ReferenceMode : std::uint8_t {
  kNative,   // each op in its own dtype, as eager does
  kFloat64,  // floats widened, integers and bools pinned to the native run's
  // The envelope round the float64 run: for each output one float64 tensor of half-widths, one for
  // each element (complex: a last dimension of two, for the parts). The largest distance from the
  // float64 value in runs with intermediate floats moved by a unit in the last place and
  // reductions permuted, decisions pinned.
  kEnvelope,
  // The same runs with decisions of their own, and a free float64 run: for each output two float64
  // tensors, the lowest and the highest value seen. They part where a decision hangs on rounding.
  kSpan,
  // With half-precision floats kept in float32 from op to op, each output rounded to its own dtype
  // at the end: what fusion by design makes of the fragment. For each output two tensors: of a run
  // that rounds nothing before the end, and of one in which whoever uses an output finds it
  // rounded, as loops do that load what an earlier one has stored.
  kUnrounded,
  // For each output one bool tensor: the elements that hang on something that PyTorch leaves open.
  kOpen,
};

struct ReferenceOutput {
  std::size_t storage = 0;  // index into ReferenceResult::arena
  Layout layout;
};

struct ReferenceRun {
  // One for each checked output of the fragment, in its order (kSpan, kUnrounded: two); none when
  // `exception` is set.
  std::vector<ReferenceOutput> outputs;
  std::string exception;  // the op's own error text, with the node's name
  // kFloat64: why there is no float64 opinion ("aten._fft_c2c has no float64 form"); else empty.
  std::string no_oracle;
  // kOpen: the sentences of PyTorch's documentation that leave it open; none: nothing is.
  std::vector<std::string> sentences;
};

// A node that the reference had to have run by Python.
struct PythonNode {
  std::string node;
  std::string target;
};

struct ReferenceResult {
  std::vector<ReferenceRun> runs;  // one for each mode asked for, in order
  std::shared_ptr<Arena> arena;    // holds the outputs of all runs
  std::vector<PythonNode> python_nodes = {};
};

class ReferenceRunner {
 public:
  virtual ~ReferenceRunner() = default;
  virtual void start() {}  // as KernelRunner::start
  // `inputs` holds the call's storages as they were before the call; they are left unchanged.
  virtual ReferenceResult run(const Fragment& fragment, const CallRecord& call, const Arena& inputs,
                              const std::vector<ReferenceMode>& modes) = 0;
};

}  // namespace fuseproof
