// A run on disk (docs/bundle-format.md): the folder that a capture writes and that check, show and
// bench read.
//
//   RUN/run.json
//   RUN/<process>/process.json             of a process that joined: as run.json of its creator
//   RUN/<process>/graphs/<g>/graph.json    lowered graph, order of its kernels and externals
//                            calls/<k>.json  optional
//   RUN/<process>/sites/<nnn>_<kernel>/    kernel.json fragment.json kernel.cpp kernel.so
//                                          calls/<k>.json
//   RUN/blobs/<xxh128>
//
// Writing is append-only and atomic file by file, so that the run of a program that crashed is
// readable up to the crash.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "bundle/call_record.h"
#include "bundle/kernel_spec.h"
#include "fragment/fragment.h"
#include "tensor/arena.h"

namespace fuseproof {

// What tells the processes of one program from those of another one.
struct ProcessIdentity {
  std::string process = "process_0";  // its folder
  std::string launch;      // what all ranks of a launch have in common; "": no part of a launch
  std::string parent_run;  // id of the run that an ancestor of this process is writing, or ""
};

// Writes one process's part of a run. Thread-safe.
class RunWriter {
 public:
  // Creates RUN and RUN/<process>/; `info` becomes run.json, with schema version and origin added.
  // Where RUN exists, it is joined by the ranks of the launch whose rank created it, and by
  // descendants of the process that did; `info` becomes RUN/<process>/process.json. Anything else
  // that exists is refused (kUsage): a run is never overwritten.
  static std::unique_ptr<RunWriter> open(FileSystem& files, const Path& run,
                                         const ProcessIdentity& identity, const Json& info);

  const std::string& run_id() const { return run_id_; }
  // The process's folder in the run. A descendant whose folder is taken gets the next free name.
  const std::string& process() const { return process_; }
  // run.json or process.json.
  Path info_path() const { return run_ / info_file_; }

  // Adds top-level fields to the information (list of graphs, counts of what could not be
  // recovered).
  void update_info(const Json& fields);
  // One graph of a chain: "dynamo", "aten", or "graph", the one that was lowered.
  void write_graph(const std::string& graph, const std::string& name, const Json& document);
  // Writes kernel.json, fragment.json, kernel.cpp and, when `object` names a file, kernel.so.
  // Hashes in `spec.artifact` are filled in. Writing a site again replaces it (its object came
  // later).
  void write_site(KernelSpec spec, const Fragment& fragment, std::string_view source,
                  const Path& object);
  // The content of a storage; returns its hash, or "" when the byte budget does not allow it.
  std::string write_blob(std::span<const std::byte> content);
  void write_call(const std::string& site, const CallRecord& record);
  // A call of a graph that write_graph has written.
  void write_graph_call(const std::string& graph, const CallRecord& record);

  // Bytes of blobs that may be written; 0: no limit.
  void set_byte_budget(std::uint64_t bytes);
  std::uint64_t blob_bytes_written() const;
  std::uint64_t blob_bytes_refused() const;

 private:
  RunWriter(FileSystem& files, Path run);
  void create(const ProcessIdentity& identity);
  void join(const ProcessIdentity& identity);
  void take_folder(const ProcessIdentity& identity);

  FileSystem& files_;
  Path run_;
  std::string run_id_;
  std::string process_;
  Path info_file_;  // relative to the run
  Json info_;
  mutable std::mutex mutex_;
  std::set<std::string> blobs_;
  std::uint64_t byte_budget_ = 0;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t bytes_refused_ = 0;
};

struct SiteAddress {
  std::string process;
  std::string site;  // "003_cpp_fused_add_relu_0"
};

// What check needs of one site. Blobs are mapped when they are asked for.
struct SiteBundle {
  SiteAddress address;
  Path folder;
  KernelSpec spec;
  Fragment fragment;
  std::vector<std::int64_t> calls;  // recorded indices, ascending
};

// One graph of a process, as a fragment (fragment/whole_graph.h).
struct GraphBundle {
  Path folder;
  Fragment fragment;
  std::vector<std::int64_t> calls;  // recorded indices, ascending
};

class RunReader {
 public:
  // Throws kBadInput when `run` is no run, kUnsupported for a newer major version.
  RunReader(FileSystem& files, Path run);

  const Json& info() const { return info_; }
  const Path& path() const { return run_; }
  // Sites in the order of their numbers, process by process. Cheap: reads folder names alone.
  const std::vector<SiteAddress>& sites() const { return sites_; }
  // The sites that "003", "003_cpp_fused_add_0" or "<process>/003" names; empty: none.
  std::vector<SiteAddress> find(const std::string& name) const;

  SiteBundle read_site(const SiteAddress& address) const;
  CallRecord read_call(const SiteBundle& site, std::int64_t index) const;
  // Both throw kBadInput, also for a graph or a call that is not there.
  GraphBundle read_graph(const std::string& process, const std::string& graph) const;
  CallRecord read_call(const GraphBundle& graph, std::int64_t index) const;
  // Throws kBadInput when the blob is absent, or has another size or another hash.
  std::shared_ptr<const FileContent> read_blob(const CallStorage& storage) const;
  // The call's storages as they were. Throws kBadInput for one whose content was not kept.
  Arena read_storages(const CallRecord& call) const;
  // Whether this machine and user wrote the run (else native code in it needs --trust).
  bool is_local() const;

 private:
  FileSystem& files_;
  Path run_;
  Json info_;
  std::vector<SiteAddress> sites_;
};

}  // namespace fuseproof
