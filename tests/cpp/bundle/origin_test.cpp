#include "bundle/origin.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "temporary_folder.h"

using namespace fuseproof;

TEST_CASE("the same user gets the same origin for a run, and another for another run") {
  const TemporaryFolder folder;
  FileSystem& files = real_file_system();
  const std::string first = local_origin(files, folder.path(), "run a");
  CHECK(first.size() == 32);
  CHECK(local_origin(files, folder.path(), "run a") == first);
  CHECK(local_origin(files, folder.path(), "run b") != first);
}

TEST_CASE("another user's secret gives another origin") {
  const TemporaryFolder one;
  const TemporaryFolder other;
  FileSystem& files = real_file_system();
  CHECK(local_origin(files, one.path(), "run") != local_origin(files, other.path(), "run"));
}

TEST_CASE("the secret can be read by its owner alone") {
  const TemporaryFolder folder;
  local_origin(real_file_system(), folder.path() / "state", "run");
  struct stat status = {};
  REQUIRE(::stat((folder.path() / "state" / "origin").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("what keeps the state folder from being used is said") {
  const TemporaryFolder folder;
  CHECK(state_problem(real_file_system(), folder.path()).empty());
  CHECK(state_problem(real_file_system(), "/proc/no/such/place").find("/proc/no") !=
        std::string::npos);
  CHECK(state_problem(real_file_system(), "").find("HOME") != std::string::npos);
}

TEST_CASE("without a usable state folder there is no origin") {
  CHECK(local_origin(real_file_system(), "", "run").empty());
  CHECK(local_origin(real_file_system(), "/proc/no/such/place", "run").empty());
}

TEST_CASE("a damaged secret is replaced: it would make every run look alike") {
  const TemporaryFolder folder;
  FileSystem& files = real_file_system();
  for (const char* damaged : {"", "0123", "no hexadecimal digits, 32 chars!"}) {
    files.write_text_atomically(folder.path() / "origin", damaged);
    const std::string origin = local_origin(files, folder.path(), "run");
    CHECK(origin.size() == 32);
    CHECK(files.read_text(folder.path() / "origin") != damaged);
    CHECK(local_origin(files, folder.path(), "run") == origin);
  }
}
