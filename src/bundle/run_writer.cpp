#include <fmt/format.h>

#include "base/error.h"
#include "bundle/origin.h"
#include "bundle/run.h"
#include "tensor/hash.h"

namespace fuseproof {
namespace {

std::string text_of(const Json& json) { return json_text(json, 1) + "\n"; }

}  // namespace

RunWriter::RunWriter(FileSystem& files, Path run, std::string process)
    : files_(files), run_(std::move(run)), process_(std::move(process)) {}

std::unique_ptr<RunWriter> RunWriter::create(FileSystem& files, const Path& run,
                                             std::string process, const Json& info) {
  const Path parent = std::filesystem::absolute(run).lexically_normal().parent_path();
  files.create_folders(parent);
  if (!files.create_new_folder(run)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} exists already, and a run is never overwritten. Give another name "
                            "or remove it.",
                            run.string()));
  }
  std::unique_ptr<RunWriter> writer(new RunWriter(files, run, std::move(process)));
  const std::string id = random_id();
  writer->info_ = {{"version", fmt::format("{}.{}", kBundleVersionMajor, kBundleVersionMinor)},
                   {"id", id},
                   {"origin", local_origin(files, state_folder(), id)}};
  files.create_folders(run / "blobs");
  files.create_folders(run / writer->process_ / "sites");
  writer->update_info(info);
  return writer;
}

void RunWriter::update_info(const Json& fields) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, value] : fields.items()) info_[name] = value;
  files_.write_text_atomically(run_ / "run.json", text_of(info_));
}

void RunWriter::write_graph(const std::string& graph, const Json& document) {
  const Path folder = run_ / process_ / "graphs" / graph;
  files_.create_folders(folder);
  files_.write_text_atomically(folder / "graph.json", text_of(document));
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
