// All file access of Fuseproof goes through this one small interface, so that a test can run on a
// file system of its own and make the N-th call fail.
//
// Writes are atomic: the bytes go to a temporary name in the same folder and are renamed over the
// target, so that a reader sees the old file, the new file, or none, and never half of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fuseproof {

using Path = std::filesystem::path;

// The content of a file, read-only. Owns a private memory mapping (or a copy).
class FileContent {
 public:
  virtual ~FileContent() = default;
  virtual std::span<const std::byte> bytes() const = 0;
};

// Every function throws Error (kIo; kBadInput for a path that does not exist, and for one that is
// to be read and is no regular file) with path and cause.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual std::string read_text(const Path& path) = 0;
  // The same for files of the kernel's (/proc), whose size is not known beforehand.
  virtual std::string read_stream(const Path& path) = 0;
  virtual std::shared_ptr<const FileContent> map(const Path& path) = 0;
  virtual void write_atomically(const Path& path, std::span<const std::byte> content) = 0;
  virtual bool exists(const Path& path) = 0;
  // Creates a file that its owner alone can read, whole or not at all; false when something of that
  // name is there already.
  virtual bool create_private(const Path& path, std::string_view text) = 0;
  // Names (not paths) of the entries of a folder, sorted.
  virtual std::vector<std::string> list(const Path& folder) = 0;
  virtual void create_folders(const Path& folder) = 0;
  // Creates one folder; false when something of that name is there already.
  virtual bool create_new_folder(const Path& folder) = 0;
  virtual void rename(const Path& from, const Path& to) = 0;
  virtual void remove(const Path& path) = 0;

  void write_text_atomically(const Path& path, std::string_view text) {
    write_atomically(path, std::as_bytes(std::span(text.data(), text.size())));
  }
};

// The operating system's file system. Stateless; lives for the whole process.
FileSystem& real_file_system();

}  // namespace fuseproof
