#include "kernels/object_cache.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "kernels/kernels_fixture.h"

using namespace fuseproof;
using namespace fuseproof::test;

namespace {

ObjectCache::Build write(const std::string& text) {
  return [text](const Path& target) {
    real_file_system().write_text_atomically(target, text);
    return true;
  };
}

bool must_not_build(const Path&) {
  FAIL("built although the cache holds it");
  return false;
}

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("an object is built once and then found, by another cache object as well") {
  TemporaryFolder folder;
  ObjectCache cache(real_file_system(), folder.path(), {});
  const auto built = cache.get("k1", ".so", write("content"));
  REQUIRE(built);
  CHECK(built->was_built);
  CHECK(real_file_system().read_text(built->object) == "content");
  const auto found =
      ObjectCache(real_file_system(), folder.path(), {}).get("k1", ".so", must_not_build);
  REQUIRE(found);
  CHECK_FALSE(found->was_built);
  CHECK(found->object == built->object);
  CHECK(cache.find("k1", ".so") == built->object);
  CHECK_FALSE(cache.find("k2", ".so"));
}

TEST_CASE("a build that fails or throws leaves nothing behind") {
  TemporaryFolder folder;
  ObjectCache cache(real_file_system(), folder.path(), {});
  Path target;
  CHECK_FALSE(cache.get("k", ".so", [&](const Path& path) {
    target = path;
    write_file(path, "half an object");
    return false;
  }));
  CHECK_FALSE(std::filesystem::exists(target));
  CHECK_THROWS_AS(
      cache.get("k", ".so", [](const Path&) -> bool { throw Error(ErrorKind::kIo, "no space"); }),
      Error);
  CHECK(cache.get("k", ".so", write("whole"))->was_built);
}

TEST_CASE("an entry whose content was changed, cut or lost its hash is built again") {
  TemporaryFolder folder;
  ObjectCache cache(real_file_system(), folder.path(), {});
  const Path object = cache.get("k", ".so", write("content"))->object;
  for (const char* damaged : {"c0ntent", "cont", ""}) {
    write_file(object, damaged);
    CHECK_FALSE(cache.find("k", ".so"));
    CHECK(cache.get("k", ".so", write("content"))->was_built);
    CHECK(real_file_system().read_text(object) == "content");
  }
  std::filesystem::remove(object.string() + ".xxh128");
  CHECK(cache.get("k", ".so", write("content"))->was_built);
  CHECK_FALSE(cache.get("k", ".so", must_not_build)->was_built);
}

TEST_CASE("processes that want the same object at once build it once") {
  TemporaryFolder folder;
  const Path log = folder.path() / "log";
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ObjectCache cache(real_file_system(), folder.path() / "cache", {});
      const auto entry = cache.get("k", ".so", [&](const Path& target) {
        const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (::write(fd, "x", 1) != 1) ::_exit(1);
        ::usleep(100'000);
        return write("content")(target);
      });
      ::_exit(entry && real_file_system().read_text(entry->object) == "content" ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(real_file_system().read_text(log) == "x");
}

TEST_CASE("a builder that was killed does not block the next") {
  TemporaryFolder folder;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ObjectCache cache(real_file_system(), folder.path(), {});
    cache.get("k", ".so", [&](const Path& target) {
      write_file(target, "half");
      if (::write(ends[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
      return true;
    });
    ::_exit(0);
  }
  char byte = 0;
  REQUIRE(::read(ends[0], &byte, 1) == 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ObjectCache cache(real_file_system(), folder.path(), {});
  const auto entry = cache.get("k", ".so", write("content"));
  CHECK(entry->was_built);
  CHECK(real_file_system().read_text(entry->object) == "content");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("a folder that cannot be used is replaced by a private one, with one warning") {
  TemporaryFolder folder;
  write_file(folder.path() / "file", "");
  std::vector<std::string> warnings;
  Path object;
  {
    ObjectCache cache(real_file_system(), folder.path() / "file" / "cache",
                      [&](const std::string& text) { warnings.push_back(text); });
    object = cache.get("k1", ".so", write("content"))->object;
    cache.get("k2", ".so", write("content"));
    CHECK_FALSE(cache.get("k1", ".so", must_not_build)->was_built);
    REQUIRE(warnings.size() == 1);
    CHECK(has(warnings[0], (folder.path() / "file" / "cache").string()));
    CHECK(has(warnings[0], "Not a directory"));
    CHECK(std::filesystem::exists(object));
  }
  CHECK_FALSE(std::filesystem::exists(object.parent_path()));
}

TEST_CASE("objects in a folder that others may write to are not used") {
  TemporaryFolder folder;
  {
    ObjectCache cache(real_file_system(), folder.path(), {});
    cache.get("k", ".so", write("content"));
  }
  REQUIRE(::chmod((folder.path() / "objects").c_str(), 0777) == 0);
  std::vector<std::string> warnings;
  ObjectCache cache(real_file_system(), folder.path(),
                    [&](const std::string& text) { warnings.push_back(text); });
  CHECK(cache.get("k", ".so", write("content"))->was_built);
  REQUIRE(warnings.size() == 1);
  CHECK(has(warnings[0], "other users may write to it"));
}

TEST_CASE("the cache folder follows the environment") {
  const TemporaryFolder folder;
  const Variable home("HOME", folder.path().c_str());
  {
    const Variable own("FUSEPROOF_CACHE_DIR", "/own");
    const Variable xdg("XDG_CACHE_HOME", "/xdg");
    CHECK(default_cache_folder() == "/own");
  }
  const Variable own("FUSEPROOF_CACHE_DIR", nullptr);
  {
    const Variable xdg("XDG_CACHE_HOME", "/xdg");
    CHECK(default_cache_folder() == "/xdg/fuseproof");
  }
  const Variable xdg("XDG_CACHE_HOME", "");
  CHECK(default_cache_folder() == folder.path() / ".cache" / "fuseproof");
  const Variable absent_home("HOME", "/nonexistent");
  CHECK(default_cache_folder().empty());
  const Variable no_home("HOME", nullptr);
  CHECK(default_cache_folder().empty());
}
