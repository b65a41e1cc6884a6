#include "scripts/write_scripts.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "bundle/small_run.h"
#include "faulty_files.h"
#include "temporary_folder.h"

namespace fuseproof {
namespace {

std::vector<ScriptResult> scripts_of(FileSystem& files, const Path& path) {
  const RunReader run(real_file_system(), path);
  return write_scripts(files, run, run.sites());
}

}  // namespace

TEST_CASE("a script lies beside its kernel") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "run";
  write_small_run(real_file_system(), path);
  const std::vector<ScriptResult> results = scripts_of(real_file_system(), path);
  REQUIRE(results.size() == 1);
  CHECK(results[0].has_precision);
  CHECK(results[0].script == path / "p0/sites/000_cpp_fused_add_0/benchmark.py");
  CHECK(real_file_system().read_text(results[0].script).starts_with("#!/usr/bin/env python3\n"));
}

TEST_CASE("whichever call to the file system fails: a result that says so, and no half a script") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "run";
  write_small_run(real_file_system(), path);
  const Path site = path / "p0/sites/000_cpp_fused_add_0";
  const std::vector<std::string> before = real_file_system().list(site);
  FaultyFileSystem files;
  bool failed = true;
  for (int call = 1; failed; ++call) {
    REQUIRE(call < 100);
    files.fail_at(call);
    const std::vector<ScriptResult> results = scripts_of(files, path);
    REQUIRE(results.size() == 1);
    failed = results[0].error.has_value();
    if (!failed) break;
    CHECK(results[0].error == ErrorKind::kIo);
    CHECK(results[0].message == "planted failure");
    CHECK(results[0].script.empty());
    CHECK(real_file_system().list(site) == before);
  }
  CHECK(files.calls() > 1);
}

TEST_CASE("a damaged bundle leaves the others alone") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "run";
  auto writer = write_small_run(real_file_system(), path);
  KernelSpec second = add_spec();
  second.site = "001_cpp_fused_add_0";
  writer->write_site(second, add_fragment(), "kernel", "");
  real_file_system().write_text_atomically(path / "p0/sites/000_cpp_fused_add_0/fragment.json",
                                           "{");
  const std::vector<ScriptResult> results = scripts_of(real_file_system(), path);
  REQUIRE(results.size() == 2);
  CHECK(results[0].error == ErrorKind::kBadInput);
  CHECK_FALSE(results[1].error);
}

}  // namespace fuseproof
