#include "base/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace fuseproof {
namespace {

[[noreturn]] void fail(const char* action, const Path& path, int error) {
  const bool absent = error == ENOENT || error == ENOTDIR;
  throw Error(absent ? ErrorKind::kBadInput : ErrorKind::kIo,
              fmt::format("cannot {} {}: {}", action, path.string(),
                          std::generic_category().message(error)));
}

// What a path names where a file is expected: reading a FIFO waits for ever, reading a device has
// effects of its own.
const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

void require_regular(const Path& path, const struct stat& status) {
  if (S_ISREG(status.st_mode)) return;
  throw Error(ErrorKind::kBadInput, fmt::format("cannot read {}: it is {} and no regular file",
                                                path.string(), kind_of(status.st_mode)));
}

// Never waits, and opens nothing that is no regular file.
FileDescriptor open_regular(const Path& path, struct stat& status) {
  if (::stat(path.c_str(), &status) != 0) fail("open", path, errno);
  require_regular(path, status);
  // O_NONBLOCK: the name may stand for something else by now.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.get() < 0) fail("open", path, errno);
  if (::fstat(file.get(), &status) != 0) fail("read", path, errno);
  require_regular(path, status);
  return file;
}

class MappedFile : public FileContent {
 public:
  MappedFile(void* data, std::size_t size_bytes) : data_(data), size_bytes_(size_bytes) {}
  ~MappedFile() override {
    if (size_bytes_ > 0) ::munmap(data_, size_bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const override {
    return {static_cast<const std::byte*>(data_), size_bytes_};
  }

 private:
  void* data_;
  std::size_t size_bytes_;
};

// Unique among all processes and threads that write into the same folder.
Path temporary_sibling(const Path& path) {
  static std::atomic<unsigned> counter = 0;
  return path.parent_path() /
         fmt::format(".{}.{}.{}.tmp", path.filename().string(), ::getpid(), counter++);
}

void write_all(int fd, std::span<const std::byte> content, const Path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path, errno);
    content = content.subspan(static_cast<std::size_t>(written));
  }
}

// A file that was written beside its target under a name of its own; removed on destruction unless
// it was renamed.
class TemporaryFile {
 public:
  TemporaryFile(const Path& target, std::span<const std::byte> content, mode_t mode)
      : path_(temporary_sibling(target)) {
    FileDescriptor file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (file.get() < 0) fail("create", path_, errno);
    try {
      write_all(file.get(), content, target);
      if (::close(file.release()) != 0) fail("write", target, errno);
    } catch (...) {
      ::unlink(path_.c_str());
      throw;
    }
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const Path& path() const { return path_; }

 private:
  Path path_;
};

class RealFileSystem : public FileSystem {
 public:
  std::string read_text(const Path& path) override {
    const std::shared_ptr<const FileContent> content = map(path);
    const std::span<const std::byte> bytes = content->bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  std::string read_stream(const Path& path) override {
    struct stat status = {};
    const FileDescriptor file = open_regular(path, status);
    std::string text;
    std::array<char, 4096> buffer;
    while (true) {
      const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("read", path, errno);
      if (count == 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }

  std::shared_ptr<const FileContent> map(const Path& path) override {
    struct stat status = {};
    const FileDescriptor file = open_regular(path, status);
    const auto size_bytes = static_cast<std::size_t>(status.st_size);
    if (size_bytes == 0) return std::make_shared<MappedFile>(nullptr, 0);
    void* data = ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (data == MAP_FAILED) fail("map", path, errno);
    return std::make_shared<MappedFile>(data, size_bytes);
  }

  void write_atomically(const Path& path, std::span<const std::byte> content) override {
    const TemporaryFile temporary(path, content, 0666);
    rename(temporary.path(), path);
  }

  bool create_private(const Path& path, std::string_view text) override {
    const TemporaryFile temporary(path, std::as_bytes(std::span(text)), S_IRUSR | S_IWUSR);
    // Unlike a rename, a link never replaces what another process has put there meanwhile.
    if (::link(temporary.path().c_str(), path.c_str()) == 0) return true;
    if (errno == EEXIST) return false;
    fail("create", path, errno);
  }

  bool exists(const Path& path) override {
    struct stat status = {};
    if (::stat(path.c_str(), &status) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    fail("look up", path, errno);
  }

  std::vector<std::string> list(const Path& folder) override {
    std::error_code error;
    std::vector<std::string> names;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      names.push_back(entry->path().filename().string());
    }
    if (error) fail("list", folder, error.value());
    std::sort(names.begin(), names.end());
    return names;
  }

  void create_folders(const Path& folder) override {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) fail("create the folder", folder, error.value());
  }

  bool create_new_folder(const Path& folder) override {
    if (::mkdir(folder.c_str(), 0777) == 0) return true;
    if (errno == EEXIST) return false;
    fail("create the folder", folder, errno);
  }

  void rename(const Path& from, const Path& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) fail("rename a file to", to, errno);
  }

  void remove(const Path& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail("remove", path, errno);
  }
};

}  // namespace

FileSystem& real_file_system() {
  static RealFileSystem instance;
  return instance;
}

}  // namespace fuseproof
