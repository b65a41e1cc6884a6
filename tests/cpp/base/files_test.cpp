#include "base/files.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <functional>

#include "base/error.h"
#include "temporary_folder.h"

using namespace fuseproof;

namespace {

ErrorKind kind_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no error was thrown");
  return ErrorKind::kInternal;
}

}  // namespace

TEST_CASE("what was written is what is read, and no temporary file stays behind") {
  const TemporaryFolder folder;
  FileSystem& files = real_file_system();
  const Path path = folder.path() / "note.txt";
  files.write_text_atomically(path, "first");
  files.write_text_atomically(path, "second");
  CHECK(files.read_text(path) == "second");
  CHECK(files.list(folder.path()) == std::vector<std::string>{"note.txt"});
}

TEST_CASE("an empty file maps to no bytes") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "empty";
  real_file_system().write_text_atomically(path, "");
  CHECK(real_file_system().map(path)->bytes().empty());
}

TEST_CASE("a mapping outlives the file's name") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "data";
  real_file_system().write_text_atomically(path, "abc");
  const auto content = real_file_system().map(path);
  real_file_system().remove(path);
  CHECK(content->bytes().size() == 3);
  CHECK(content->bytes()[2] == std::byte{'c'});
}

TEST_CASE("a missing file is bad input and the message names it") {
  CHECK(kind_of([] { real_file_system().read_text("/nonexistent/file"); }) == ErrorKind::kBadInput);
  CHECK_THROWS_WITH(real_file_system().read_text("/nonexistent/file"),
                    "cannot open /nonexistent/file: No such file or directory");
}

TEST_CASE("what is no regular file is refused at once, and named") {
  const TemporaryFolder folder;
  FileSystem& files = real_file_system();
  const Path fifo = folder.path() / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  for (const Path& path : {folder.path(), fifo, Path("/dev/zero")}) {
    CHECK(kind_of([&] { files.map(path); }) == ErrorKind::kBadInput);
    CHECK(kind_of([&] { files.read_text(path); }) == ErrorKind::kBadInput);
    CHECK(kind_of([&] { files.read_stream(path); }) == ErrorKind::kBadInput);
  }
  CHECK_THROWS_WITH(files.map("/dev/zero"),
                    "cannot read /dev/zero: it is a device and no regular file");
}

TEST_CASE("a write into a missing folder fails and leaves nothing") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(real_file_system().write_text_atomically(folder.path() / "no" / "file", "x"),
                  Error);
  CHECK(real_file_system().list(folder.path()).empty());
}

TEST_CASE("a write over a folder fails and leaves no temporary file") {
  const TemporaryFolder folder;
  real_file_system().create_folders(folder.path() / "taken");
  CHECK_THROWS_AS(real_file_system().write_text_atomically(folder.path() / "taken", "x"), Error);
  CHECK(real_file_system().list(folder.path()) == std::vector<std::string>{"taken"});
}

TEST_CASE("a new folder is made once") {
  const TemporaryFolder folder;
  CHECK(real_file_system().create_new_folder(folder.path() / "run"));
  CHECK_FALSE(real_file_system().create_new_folder(folder.path() / "run"));
}

TEST_CASE("a file of the kernel's, whose size reads as zero, is read to its end") {
  CHECK(real_file_system().read_stream("/proc/self/status").find("Pid:") != std::string::npos);
}

TEST_CASE("a private file is its owner's alone, and the first writer's") {
  const TemporaryFolder folder;
  FileSystem& files = real_file_system();
  const Path path = folder.path() / "secret";
  CHECK(files.create_private(path, "first"));
  CHECK_FALSE(files.create_private(path, "second"));
  CHECK(files.read_text(path) == "first");
  CHECK(files.list(folder.path()) == std::vector<std::string>{"secret"});
  struct stat status = {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}
