// calls/<k>.json: one call of a kernel, or of a graph: the storages its arguments lived in and the
// views into them, as they were just before the call.
//
// Storages and not tensors are what is kept, so that aliasing between arguments, gaps between rows,
// storage offsets and shared weights survive. Each distinct content is written once, under its
// hash.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/expression_value.h"
#include "base/files.h"
#include "base/json.h"
#include "tensor/layout.h"
#include "tensor/symbolic_layout.h"

namespace fuseproof {

struct CallStorage {
  std::uint64_t size_bytes = 0;
  std::uint32_t address_mod_64 = 0;
  // Hex xxh128 of the content. Empty when it was not kept: the storage held nothing but outputs,
  // the inputs were recorded as layouts only, or the byte budget was reached (`omitted` says
  // which).
  std::string blob;
  std::string omitted;  // "", "output", "layout", "budget"
};

struct CallArgument {
  enum class Kind : std::uint8_t { kTensor, kInteger, kFloat };
  Kind kind = Kind::kTensor;
  std::int64_t storage = -1;  // kTensor: index into CallRecord::storages
  Layout layout;              // kTensor: offset counts from the start of the storage
  std::int64_t integer = 0;
  double number = 0;
};

struct CallRecord {
  std::int64_t index = 0;  // k: this call among the recorded calls of its site
  std::int64_t step = 0;   // how often the graph had been called before
  int threads = 1;         // torch.get_num_threads() at the call
  std::uint32_t mxcsr =
      0x1f80;  // x86 control word (FTZ, DAZ, rounding); its status bits are cleared
  bool grad_mode = false;
  DType default_dtype = DType::kFloat32;  // torch.get_default_dtype()
  // How library calls may compute in float32: torch.backends.mkldnn.<op>.fp32_precision by op
  // ("matmul", "conv", "rnn"). Those that are absent are torch's default.
  std::map<std::string, std::string> float32_precision;
  // What the graph's symbols (sizes, mostly) stand for in this call; those that could be read off
  // the graph's inputs or the kernel's arguments.
  SymbolValues symbols;
  std::vector<CallStorage> storages;
  // Those of KernelSpec::arguments, then the graph's constants that the fragment needs and the
  // kernel is not passed (Inductor writes small ones into the code). FragmentInput::argument counts
  // both.
  std::vector<CallArgument> arguments;
  // The storage that holds the state of the default generator for the CPU, as torch.get_rng_state()
  // gives it. No argument lies in it. Absent: what is called draws nothing from that generator.
  std::optional<std::int64_t> generator;
};

// Where a fragment's value lies in the storage of the argument that it is bound to: all of the
// argument's view, or the part that the fragment names, counted from where that view begins. Throws
// kBadInput when the call's symbols make no layout of it, kUnsupported when it begins between two
// of its own elements; `what` names the value in both.
Layout layout_in_storage(const CallRecord& call, std::int64_t argument,
                         const std::optional<SymbolicLayout>& part, const std::string& what);

Json to_json(const CallRecord& record);
// Throws kBadInput, also for a view that does not fit into its storage.
CallRecord call_record_from_json(const JsonObject& object);

}  // namespace fuseproof
