#include "bundle/side_file.h"

#include <doctest/doctest.h>

#include <thread>

#include "base/error.h"
#include "base/json.h"
#include "faulty_files.h"
#include "small_run.h"
#include "temporary_folder.h"

using namespace fuseproof;

namespace {

const SideFileKey kKey = {"cabc", "graph():\n    return add", "fuseproof 1, torch 2"};

std::string content(std::int64_t site_in_order = 0) {
  const Json order = {{{"kind", "kernel"}, {"site", site_in_order}}};
  Json site = {{"sub_graph", ""}, {"source", "int x;\n"}, {"constants", Json::array()}};
  site["spec"] = to_json(add_spec());
  site["fragment"] = to_json(add_fragment());
  Json graph = {{"sub_graph", ""}, {"info", Json::object()}, {"document", Json::object()}};
  graph["order"] = order;
  return json_text({{"graphs", {graph}}, {"sites", {site}}}, -1);
}

Path only_file(const Path& folder) { return folder / real_file_system().list(folder).at(0); }

}  // namespace

TEST_CASE("a side file gives back what was written, to who asks for the same") {
  const TemporaryFolder folder;
  FileSystem& files = real_file_system();
  CHECK_FALSE(read_side_file(files, folder.path() / "none", kKey).has_value());
  write_side_file(files, folder.path(), kKey, content());
  CHECK(read_side_file(files, folder.path(), kKey) == content());
  for (const SideFileKey& other : {SideFileKey{"cabd", kKey.graph, kKey.program},
                                   SideFileKey{kKey.module, "graph():", kKey.program},
                                   SideFileKey{kKey.module, kKey.graph, "fuseproof 2, torch 2"}}) {
    CHECK_FALSE(read_side_file(files, folder.path(), other).has_value());
  }
}

TEST_CASE("another's file under this name, and a damaged one, count as absent") {
  const TemporaryFolder folder;
  FileSystem& files = real_file_system();
  write_side_file(files, folder.path(), kKey, content());
  const Path path = only_file(folder.path());
  const std::string whole = files.read_text(path);
  const std::size_t middle = whole.find("arg0_1");
  std::string edited = whole;
  edited[middle] = 'b';
  std::string foreign = whole;
  foreign.replace(foreign.find("torch 2"), 7, "torch 3");
  for (const std::string& text : {std::string(), std::string("\n"), whole.substr(0, middle),
                                  whole.substr(0, whole.size() - 1), edited, foreign, whole + "\n",
                                  whole.substr(whole.find('\n') + 1)}) {
    files.write_text_atomically(path, text);
    CHECK_FALSE(read_side_file(files, folder.path(), kKey).has_value());
  }
  files.write_text_atomically(path, whole);
  CHECK(read_side_file(files, folder.path(), kKey).has_value());
}

TEST_CASE("a file that cannot be read counts as absent, one that cannot be written is an error") {
  const TemporaryFolder folder;
  write_side_file(real_file_system(), folder.path(), kKey, content());
  FaultyFileSystem files;
  files.fail_at(2);
  CHECK_FALSE(read_side_file(files, folder.path(), kKey).has_value());
  files.fail_at(2);
  CHECK_THROWS_AS(write_side_file(files, folder.path(), kKey, content()), Error);
}

TEST_CASE("what is no content is not written") {
  const TemporaryFolder folder;
  for (const std::string& text :
       {std::string("{"), std::string("{}"), content(1), content() + "\n"}) {
    CHECK_THROWS_AS(write_side_file(real_file_system(), folder.path(), kKey, text), Error);
  }
  CHECK(real_file_system().list(folder.path()).empty());
}

TEST_CASE("threads that write the same file at once leave a whole one") {
  const TemporaryFolder folder;
  const auto write = [&] {
    for (int i = 0; i < 50; ++i) {
      write_side_file(real_file_system(), folder.path(), kKey, content());
    }
  };
  std::thread other(write);
  write();
  other.join();
  CHECK(real_file_system().list(folder.path()).size() == 1);
  CHECK(read_side_file(real_file_system(), folder.path(), kKey) == content());
}

TEST_CASE("a package's hash follows its sources and shared objects alone") {
  const TemporaryFolder folder;
  FileSystem& files = real_file_system();
  files.write_text_atomically(folder.path() / "a.py", "x = 1\n");
  const std::string before = package_hash(files, folder.path());
  files.write_text_atomically(folder.path() / "notes.txt", "x\n");
  CHECK(package_hash(files, folder.path()) == before);
  files.write_text_atomically(folder.path() / "a.py", "x = 2\n");
  CHECK(package_hash(files, folder.path()) != before);
}
