#include "kernels/object_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/home_folder.h"
#include "tensor/hash.h"

namespace fuseproof {
namespace {

std::string text_of(int error) { return std::generic_category().message(error); }

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Path with_suffix(const Path& path, const char* suffix) { return Path(path.native() + suffix); }

// Why `folder` cannot hold objects that will be run; empty when it can.
std::string objection(const Path& folder) {
  struct stat status = {};
  if (::lstat(folder.c_str(), &status) != 0) return text_of(errno);
  if (!S_ISDIR(status.st_mode)) return "it is no folder";
  if (status.st_uid != ::geteuid()) return "it belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "other users may write to it";
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return text_of(errno);
  return "";
}

Path make_private_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "fuseproof-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorKind::kIo, fmt::format("cannot create a temporary folder {}: {}. Point TMPDIR "
                                            "at a folder that can be written to",
                                            name, text_of(errno)));
  }
  return name;
}

// Held until destruction.
class Lock {
 public:
  explicit Lock(const Path& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_.get() < 0) fail(path);
    while (::flock(file_.get(), LOCK_EX) != 0) {
      if (errno != EINTR) fail(path);
    }
  }

 private:
  [[noreturn]] static void fail(const Path& path) {
    throw Error(ErrorKind::kIo, fmt::format("cannot lock {}: {}", path.string(), text_of(errno)));
  }

  FileDescriptor file_;
};

// Removes a file that may not be there.
class TemporaryFile {
 public:
  explicit TemporaryFile(Path path) : path_(std::move(path)) {}
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const Path& path() const { return path_; }

 private:
  Path path_;
};

}  // namespace

Path default_cache_folder() {
  if (const std::string own = environment("FUSEPROOF_CACHE_DIR"); !own.empty()) return own;
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty()) {
    return Path(xdg) / "fuseproof";
  }
  const std::optional<Path> home = home_folder();
  return home ? *home / ".cache" / "fuseproof" : Path();
}

ObjectCache::ObjectCache(FileSystem& files, Path folder, Warn warn)
    : files_(files), folder_(std::move(folder)), warn_(std::move(warn)) {}

ObjectCache::~ObjectCache() {
  std::error_code ignored;
  if (!private_folder_.empty()) std::filesystem::remove_all(private_folder_, ignored);
}

const Path& ObjectCache::objects() {
  if (!objects_.empty()) return objects_;
  std::string problem = "no home folder is known";
  if (!folder_.empty()) {
    const Path folder = std::filesystem::absolute(folder_) / "objects";
    std::error_code ignored;  // what is wrong shows in what is there afterwards
    std::filesystem::create_directories(folder.parent_path(), ignored);
    ::mkdir(folder.c_str(), 0700);
    problem = objection(folder);
    if (problem.empty()) return objects_ = folder;
  }
  private_folder_ = make_private_folder();
  if (warn_) {
    warn_(fmt::format(
        "the cache folder {} cannot be used ({}): kernels that are rebuilt are kept for "
        "this run alone. Set FUSEPROOF_CACHE_DIR to a folder of your own",
        folder_.string(), problem));
  }
  return objects_ = private_folder_;
}

bool ObjectCache::is_sound(const Path& object) {
  const Path hash_file = with_suffix(object, ".xxh128");
  if (!files_.exists(object) || !files_.exists(hash_file)) return false;
  return files_.read_text(hash_file) == xxh128_hex(files_.map(object)->bytes());
}

std::optional<Path> ObjectCache::find(const std::string& key, std::string_view suffix) {
  const Path object = objects() / (key + std::string(suffix));
  if (!is_sound(object)) return std::nullopt;
  return object;
}

std::optional<ObjectCache::Entry> ObjectCache::get(const std::string& key, std::string_view suffix,
                                                   const Build& build) {
  const Path object = objects() / (key + std::string(suffix));
  if (is_sound(object)) return Entry{object, false};
  const Lock lock(with_suffix(object, ".lock"));
  // Another process may have built it while this one waited.
  if (is_sound(object)) return Entry{object, false};
  const TemporaryFile temporary(object.parent_path() /
                                fmt::format("{}.{}.tmp{}", key, ::getpid(), suffix));
  if (!build(temporary.path())) return std::nullopt;
  const std::string hash = xxh128_hex(files_.map(temporary.path())->bytes());
  files_.rename(temporary.path(), object);
  files_.write_text_atomically(with_suffix(object, ".xxh128"), hash);
  return Entry{object, true};
}

}  // namespace fuseproof
