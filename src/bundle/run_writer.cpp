#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"
#include "bundle/origin.h"
#include "bundle/run.h"
#include "tensor/hash.h"

namespace fuseproof {
namespace {

std::string version() { return fmt::format("{}.{}", kBundleVersionMajor, kBundleVersionMinor); }

std::string text_of(const Json& json) { return json_text(json, 1) + "\n"; }

[[noreturn]] void refuse(const Path& path) {
  throw Error(ErrorKind::kUsage,
              fmt::format("{} exists already, and a run is never overwritten. Give another name or "
                          "remove it.",
                          path.string()));
}

// A program may change its working folder while the run is written.
Path fixed_path(const Path& run) {
  const Path path = std::filesystem::absolute(run).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

// The rank that creates a run writes run.json a moment after the folder.
void wait_for(FileSystem& files, const Path& path) {
  constexpr int kTries = 500;
  constexpr auto kPause = std::chrono::milliseconds(20);
  for (int i = 0; i < kTries && !files.exists(path); ++i) std::this_thread::sleep_for(kPause);
}

}  // namespace

RunWriter::RunWriter(FileSystem& files, Path run) : files_(files), run_(std::move(run)) {}

std::unique_ptr<RunWriter> RunWriter::open(FileSystem& files, const Path& run,
                                           const ProcessIdentity& identity, const Json& info) {
  const Path folder = fixed_path(run);
  files.create_folders(folder.parent_path());
  std::unique_ptr<RunWriter> writer(new RunWriter(files, folder));
  if (files.create_new_folder(folder)) {
    writer->create(identity);
  } else {
    writer->join(identity);
  }
  writer->update_info(info);
  return writer;
}

void RunWriter::create(const ProcessIdentity& identity) {
  run_id_ = random_id();
  process_ = identity.process;
  info_file_ = "run.json";
  info_ = {{"version", version()},
           {"id", run_id_},
           {"origin", local_origin(files_, state_folder(), run_id_)}};
  if (!identity.launch.empty()) info_["launch"] = identity.launch;
  files_.create_folders(run_ / "blobs");
  files_.create_folders(run_ / process_ / "sites");
}

void RunWriter::join(const ProcessIdentity& identity) {
  const Path path = run_ / "run.json";
  if (!identity.launch.empty()) wait_for(files_, path);
  const bool may_be_ours = !identity.launch.empty() || !identity.parent_run.empty();
  if (!may_be_ours || !files_.exists(path)) refuse(run_);
  const Json json = parse_json(files_.read_text(path), path.string());
  const JsonObject run(json, path.string());
  run_id_ = run.string("id");
  const bool is_rank = !identity.launch.empty() && run.string_or("launch", "") == identity.launch;
  const bool is_descendant = run_id_ == identity.parent_run;
  if (!is_rank && !is_descendant) refuse(run_);
  take_folder(identity);
  info_file_ = Path(process_) / "process.json";
  info_ = {{"version", version()}, {"id", run_id_}};
  files_.create_folders(run_ / process_ / "sites");
}

void RunWriter::take_folder(const ProcessIdentity& identity) {
  process_ = identity.process;
  if (files_.create_new_folder(run_ / process_)) return;
  if (run_id_ != identity.parent_run) refuse(run_ / process_);
  for (int n = 1; !files_.create_new_folder(run_ / process_); ++n) {
    process_ = fmt::format("{}_{}", identity.process, n);
  }
}

void RunWriter::update_info(const Json& fields) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, value] : fields.items()) info_[name] = value;
  files_.write_text_atomically(info_path(), text_of(info_));
}

void RunWriter::write_graph(const std::string& graph, const std::string& name,
                            const Json& document) {
  const Path folder = run_ / process_ / "graphs" / graph;
  files_.create_folders(folder);
  files_.write_text_atomically(folder / (name + ".json"), text_of(document));
}

void RunWriter::write_site(KernelSpec spec, const Fragment& fragment, std::string_view source,
                           const Path& object) {
  const Path folder = run_ / process_ / "sites" / spec.site;
  files_.create_folders(folder / "calls");
  spec.artifact.source_file = "kernel.cpp";
  spec.artifact.source_hash = xxh128_hex(source);
  files_.write_text_atomically(folder / spec.artifact.source_file, source);
  if (!object.empty()) {
    const std::shared_ptr<const FileContent> content = files_.map(object);
    spec.artifact.object_file = "kernel.so";
    spec.artifact.object_hash = xxh128_hex(content->bytes());
    files_.write_atomically(folder / spec.artifact.object_file, content->bytes());
  }
  files_.write_text_atomically(folder / "fragment.json", text_of(to_json(fragment)));
  files_.write_text_atomically(folder / "kernel.json", text_of(to_json(spec)));
}

std::string RunWriter::write_blob(std::span<const std::byte> content) {
  std::string hash = xxh128_hex(content);
  {
    const std::lock_guard lock(mutex_);
    if (blobs_.contains(hash)) return hash;
    if (byte_budget_ > 0 && bytes_written_ + content.size() > byte_budget_) {
      bytes_refused_ += content.size();
      return "";
    }
    bytes_written_ += content.size();
  }
  const Path path = run_ / "blobs" / hash;
  if (!files_.exists(path)) files_.write_atomically(path, content);
  const std::lock_guard lock(mutex_);
  blobs_.insert(hash);
  return hash;
}

void RunWriter::write_call(const std::string& site, const CallRecord& record) {
  const Path path =
      run_ / process_ / "sites" / site / "calls" / fmt::format("{}.json", record.index);
  files_.write_text_atomically(path, text_of(to_json(record)));
}

void RunWriter::write_graph_call(const std::string& graph, const CallRecord& record) {
  const Path folder = run_ / process_ / "graphs" / graph / "calls";
  files_.create_folders(folder);
  files_.write_text_atomically(folder / fmt::format("{}.json", record.index),
                               text_of(to_json(record)));
}

void RunWriter::set_byte_budget(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  byte_budget_ = bytes;
}

std::uint64_t RunWriter::blob_bytes_written() const {
  const std::lock_guard lock(mutex_);
  return bytes_written_;
}

std::uint64_t RunWriter::blob_bytes_refused() const {
  const std::lock_guard lock(mutex_);
  return bytes_refused_;
}

}  // namespace fuseproof
