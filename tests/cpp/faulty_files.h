// A file system for tests whose N-th call fails, over the real one.
#pragma once

#include <string>

#include "base/error.h"
#include "base/files.h"

namespace fuseproof {

class FaultyFileSystem : public FileSystem {
 public:
  // The call with this number (from 1) throws kIo; 0: none does.
  void fail_at(int call) {
    failing_call_ = call;
    calls_ = 0;
  }
  int calls() const { return calls_; }

  std::string read_text(const Path& path) override { return counted().read_text(path); }
  std::string read_stream(const Path& path) override { return counted().read_stream(path); }
  std::shared_ptr<const FileContent> map(const Path& path) override { return counted().map(path); }
  void write_atomically(const Path& path, std::span<const std::byte> content) override {
    counted().write_atomically(path, content);
  }
  bool exists(const Path& path) override { return counted().exists(path); }
  bool create_private(const Path& path, std::string_view text) override {
    return counted().create_private(path, text);
  }
  std::vector<std::string> list(const Path& folder) override { return counted().list(folder); }
  void create_folders(const Path& folder) override { counted().create_folders(folder); }
  bool create_new_folder(const Path& folder) override {
    return counted().create_new_folder(folder);
  }
  void rename(const Path& from, const Path& to) override { counted().rename(from, to); }
  void remove(const Path& path) override { counted().remove(path); }

 private:
  FileSystem& counted() {
    if (++calls_ == failing_call_) throw Error(ErrorKind::kIo, "planted failure");
    return real_file_system();
  }

  int failing_call_ = 0;
  int calls_ = 0;
};

}  // namespace fuseproof
