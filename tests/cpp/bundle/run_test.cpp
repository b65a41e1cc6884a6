#include "bundle/run.h"

#include <doctest/doctest.h>

#include <functional>

#include "base/error.h"
#include "faulty_files.h"
#include "small_run.h"
#include "temporary_folder.h"

using namespace fuseproof;

namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  FAIL("no error was thrown");
  return "";
}

void overwrite(const Path& path, std::string_view text) {
  real_file_system().write_text_atomically(path, text);
}

}  // namespace

TEST_CASE("what was written is what is read") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "run";
  write_small_run(real_file_system(), path);
  const RunReader run(real_file_system(), path);
  REQUIRE(run.sites().size() == 1);
  const SiteBundle site = run.read_site(run.sites()[0]);
  CHECK(site.spec.kernel == "cpp_fused_add_0");
  CHECK(site.fragment.outputs[0].node == "add");
  CHECK(site.calls == std::vector<std::int64_t>{0});
  const CallRecord call = run.read_call(site, 0);
  const auto content = run.read_blob(call.storages[0]);
  CHECK(std::memcmp(content->bytes().data(), kInputValues.data(), 16) == 0);
}

TEST_CASE("a graph and its calls are read as a fragment and the calls of one") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "run";
  const auto writer = write_small_run(real_file_system(), path);
  Graph graph = add_fragment().graph;
  graph.nodes.push_back({.name = "output", .kind = NodeKind::kOutput, .arguments = {}});
  graph.nodes.back().arguments = {{ArgumentList{{NodeRef{"add"}}}}};
  writer->write_graph("0", "graph",
                      {{"graph", to_json(graph)},
                       {"mutations", Json::object()},
                       {"problems", Json::object()},
                       {"external_nodes", Json::array()},
                       {"locations", Json::array()},
                       {"buffers", Json::object()}});
  CallRecord call = add_call(writer->write_blob(std::as_bytes(std::span(kInputValues))));
  call.storages.pop_back();
  call.arguments.pop_back();
  writer->write_graph_call("0", call);

  const RunReader run(real_file_system(), path);
  const GraphBundle bundle = run.read_graph("p0", "0");
  CHECK(bundle.calls == std::vector<std::int64_t>{0});
  REQUIRE(bundle.fragment.outputs.size() == 1);
  CHECK(bundle.fragment.outputs[0].node == "add");
  const Arena storages = run.read_storages(run.read_call(bundle, 0));
  CHECK(std::memcmp(storages.storage(0).data(), kInputValues.data(), 16) == 0);

  call.storages[0].blob = "";
  call.storages[0].omitted = "budget";
  CHECK(message_of([&] { run.read_storages(call); }).find("was not kept (budget)") !=
        std::string::npos);
  call.index = 1;
  call.arguments.clear();
  writer->write_graph_call("0", call);
  CHECK(message_of([&] { run.read_call(bundle, 1); }).find("holds 0 entries; graph.json has 1") !=
        std::string::npos);
  CHECK(message_of([&] { run.read_graph("p0", "7"); }).find("graph.json") != std::string::npos);
}

TEST_CASE("a site is found by number, padded number, name and process") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "run";
  write_small_run(real_file_system(), path);
  const RunReader run(real_file_system(), path);
  for (const char* name : {"0", "000", "000_cpp_fused_add_0", "p0/0", "p0/000_cpp_fused_add_0"}) {
    CHECK(run.find(name).size() == 1);
  }
  for (const char* name : {"1", "", "add", "p1/0"}) CHECK(run.find(name).empty());
}

TEST_CASE("each content is written once, and a budget is kept") {
  const TemporaryFolder folder;
  const auto writer =
      RunWriter::open(real_file_system(), folder.path() / "run", {"p0", "", ""}, Json::object());
  const std::vector<std::byte> content(1000, std::byte{1});
  const std::vector<std::byte> other(1000, std::byte{2});
  writer->set_byte_budget(1500);
  const std::string hash = writer->write_blob(content);
  CHECK(writer->write_blob(content) == hash);
  CHECK(writer->blob_bytes_written() == 1000);
  CHECK(writer->write_blob(other).empty());
  CHECK(writer->blob_bytes_refused() == 1000);
}

TEST_CASE("an existing run is never overwritten") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "run";
  write_small_run(real_file_system(), path);
  const std::string message = message_of([&] {
    RunWriter::open(real_file_system(), path, {"p0", "", ""}, Json::object());
  });
  CHECK(message.find("exists already") != std::string::npos);
  CHECK(RunReader(real_file_system(), path).sites().size() == 1);
}

TEST_CASE("this user's run is local; an edited id or origin makes it foreign") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "run";
  write_small_run(real_file_system(), path);
  CHECK(RunReader(real_file_system(), path).is_local());
  Json info = parse_json(real_file_system().read_text(path / "run.json"), "run.json");
  info["id"] = "00000000000000000000000000000000";
  overwrite(path / "run.json", info.dump());
  CHECK_FALSE(RunReader(real_file_system(), path).is_local());
}

TEST_CASE("a folder that is no run says how to make one") {
  const TemporaryFolder folder;
  CHECK(message_of([&] { RunReader(real_file_system(), folder.path()); }).find("fuseproof run") !=
        std::string::npos);
  const Path absent = folder.path() / "absent";
  CHECK(message_of([&] { RunReader(real_file_system(), absent); }) ==
        absent.string() + " does not exist");
}

TEST_CASE("truncated, edited and missing blobs are told apart") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "run";
  write_small_run(real_file_system(), path);
  const RunReader run(real_file_system(), path);
  const SiteBundle site = run.read_site(run.sites()[0]);
  const CallStorage storage = run.read_call(site, 0).storages[0];
  const Path blob = path / "blobs" / storage.blob;
  overwrite(blob, "short");
  CHECK(message_of([&] {
          run.read_blob(storage);
        }).find("has 5 bytes where the call record says 16") != std::string::npos);
  overwrite(blob, "sixteen bytes!!!");
  CHECK(message_of([&] { run.read_blob(storage); }).find("edited or damaged") != std::string::npos);
  real_file_system().remove(blob);
  CHECK(message_of([&] { run.read_blob(storage); }).find("is missing") != std::string::npos);
}

TEST_CASE("a truncated or mismatched record names its file") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "run";
  write_small_run(real_file_system(), path);
  const RunReader run(real_file_system(), path);
  const SiteBundle site = run.read_site(run.sites()[0]);
  overwrite(site.folder / "calls" / "0.json", "{\"index\": 0, ");
  CHECK(message_of([&] { run.read_call(site, 0); }).find("calls/0.json: not valid JSON") !=
        std::string::npos);
  CallRecord short_call = add_call(std::string(32, 'a'));
  short_call.arguments.pop_back();
  overwrite(site.folder / "calls" / "0.json", to_json(short_call).dump());
  CHECK(message_of([&] { run.read_call(site, 0); }).find("holds 1 entries; kernel.json has 2") !=
        std::string::npos);
}

TEST_CASE("a site that was being written when the program ended is passed over") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "run";
  write_small_run(real_file_system(), path);
  real_file_system().create_folders(path / "p0" / "sites" / "001_cpp_fused_mul_1" / "calls");
  CHECK(RunReader(real_file_system(), path).sites().size() == 1);
}

TEST_CASE(
    "whichever file access fails while writing, the error is clear and what stands is readable") {
  FaultyFileSystem counting;
  {
    const TemporaryFolder folder;
    write_small_run(counting, folder.path() / "run");
  }
  const int calls = counting.calls();
  REQUIRE(calls > 8);
  for (int failing = 1; failing <= calls; ++failing) {
    const TemporaryFolder folder;
    FaultyFileSystem files;
    files.fail_at(failing);
    const Path path = folder.path() / "run";
    try {
      write_small_run(files, path);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kIo);
    }
    if (!real_file_system().exists(path / "run.json")) continue;
    const RunReader run(real_file_system(), path);
    for (const SiteAddress& address : run.sites()) CHECK_NOTHROW(run.read_site(address));
  }
}

namespace {

// A small run, of which one file at a time is edited.
struct EditedRun {
  EditedRun() { write_small_run(real_file_system(), path); }

  void edit(const char* file, const std::function<void(Json&)>& change) {
    const Path edited = site_folder / file;
    Json json = parse_json(real_file_system().read_text(edited), file);
    change(json);
    overwrite(edited, json.dump());
  }
  std::string site_error() const {
    return message_of([&] {
      const RunReader run(real_file_system(), path);
      run.read_site(run.sites()[0]);
    });
  }
  std::string call_error() const {
    const RunReader run(real_file_system(), path);
    const SiteBundle site = run.read_site(run.sites()[0]);
    return message_of([&] { run.read_call(site, 0); });
  }

  TemporaryFolder folder;
  Path path = folder.path() / "run";
  Path site_folder = path / "p0" / "sites" / "000_cpp_fused_add_0";
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE_FIXTURE(EditedRun, "a fragment without outputs has to give a reason") {
  edit("fragment.json", [](Json& json) { json["outputs"] = Json::array(); });
  CHECK(has(site_error(), "fragment.json: field `outputs` is empty"));
  edit("fragment.json", [](Json& json) { json["failure"] = "no origin"; });
  const RunReader run(real_file_system(), path);
  CHECK_NOTHROW(run.read_site(run.sites()[0]));
}

TEST_CASE_FIXTURE(EditedRun, "an output is bound to an argument that the kernel writes") {
  edit("fragment.json", [](Json& json) { json["outputs"][0]["argument"] = 0; });
  CHECK(has(site_error(),
            "fragment.json: field `outputs[0].argument` is 0, `in_ptr0`, whose role "
            "in kernel.json is in"));
  edit("fragment.json", [](Json& json) { json["outputs"][0]["argument"] = 2; });
  CHECK(has(site_error(), "field `outputs[0].argument` is 2; kernel.json has 2 arguments"));
  edit("fragment.json", [](Json& json) { json["outputs"][0]["argument"] = 1; });
  edit("kernel.json", [](Json& json) { json["arguments"][1]["role"] = "size"; });
  CHECK(has(site_error(), "whose role in kernel.json is size"));
}

TEST_CASE_FIXTURE(EditedRun, "the arguments of a call are of the kind that their roles say") {
  edit("calls/0.json", [](Json& json) { json["arguments"][0] = {{"integer", 4096}}; });
  CHECK(has(call_error(),
            "calls/0.json: field `arguments[0]` is a number; the role of `in_ptr0` in "
            "kernel.json makes it a tensor"));
  EditedRun size;
  size.edit("kernel.json", [](Json& json) { json["arguments"][0]["role"] = "size"; });
  CHECK(has(size.call_error(), "field `arguments[0]` is a tensor"));
  EditedRun constant;
  constant.edit("calls/0.json", [](Json& json) { json["arguments"].push_back({{"float", 1.0}}); });
  CHECK(has(constant.call_error(), "field `arguments[2]` is a number; its place behind"));
}

TEST_CASE_FIXTURE(EditedRun, "a storage that a kernel reads is not left out as an output") {
  edit("calls/0.json", [](Json& json) {
    json["storages"][0].erase("blob");
    json["storages"][0]["omitted"] = "output";
  });
  CHECK(has(call_error(),
            "calls/0.json: field `storages[0].omitted` is \"output\", and argument 0 reads it"));
  edit("calls/0.json", [](Json& json) { json["storages"][0]["omitted"] = "lost"; });
  CHECK(has(call_error(), "is none of output, layout, budget: lost"));
}

TEST_CASE_FIXTURE(EditedRun, "views of a fragment lie in the storages of the call") {
  Layout layout = four_floats();
  layout.offset = 1;
  edit("fragment.json", [&](Json& json) { json["outputs"][0]["layout"] = to_json(layout); });
  CHECK(has(call_error(),
            "fragment.json: field `outputs[0].layout` ends at byte 20 of a storage "
            "that has 16 in calls/0.json"));
  edit("fragment.json", [&](Json& json) {
    json["outputs"][0].erase("layout");
    json["inputs"][0]["layout"] = to_json(layout);
  });
  CHECK(has(call_error(), "field `inputs[0].layout` ends at byte 20"));
}

TEST_CASE("sites stand in the order of their numbers, beyond three digits too") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "run";
  const auto writer = write_small_run(real_file_system(), path);
  for (const char* site : {"1000_a", "999_b", "010_c"}) {
    KernelSpec spec = add_spec();
    spec.site = site;
    writer->write_site(spec, add_fragment(), "source", "");
  }
  std::vector<std::string> order;
  const RunReader run(real_file_system(), path);
  for (const SiteAddress& address : run.sites()) order.push_back(address.site);
  CHECK(order == std::vector<std::string>{"000_cpp_fused_add_0", "010_c", "999_b", "1000_a"});
}

TEST_CASE("the ranks of one launch write one run") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "run";
  FileSystem& files = real_file_system();
  const auto first = RunWriter::open(files, path, {"process_1", "launch", ""}, {{"rank", 1}});
  const auto second = RunWriter::open(files, path, {"process_0", "launch", ""}, {{"rank", 0}});
  CHECK(second->run_id() == first->run_id());
  for (const auto& writer : {first.get(), second.get()}) {
    writer->write_site(add_spec(), add_fragment(), "", "");
  }
  const RunReader run(files, path);
  CHECK(run.info()["rank"] == 1);
  REQUIRE(run.sites().size() == 2);
  CHECK(run.sites()[0].process == "process_0");
  const Json joined = parse_json(files.read_text(second->info_path()), "process.json");
  CHECK(joined["rank"] == 0);
  CHECK(second->info_path() == path / "process_0" / "process.json");
}

TEST_CASE("a later launch is refused, whichever rank comes first, and so is a single process") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "run";
  FileSystem& files = real_file_system();
  RunWriter::open(files, path, {"process_0", "launch", ""}, Json::object());
  for (const ProcessIdentity& identity :
       {ProcessIdentity{"process_0", "launch", ""}, ProcessIdentity{"process_1", "other", ""},
        ProcessIdentity{"process_1", "", ""}, ProcessIdentity{"process_1", "", "some id"}}) {
    const std::string message =
        message_of([&] { RunWriter::open(files, path, identity, Json::object()); });
    CHECK(message.find("exists already") != std::string::npos);
  }
}

TEST_CASE("descendants of the creator join under names of their own") {
  const TemporaryFolder folder;
  const Path path = folder.path() / "run";
  FileSystem& files = real_file_system();
  const auto parent = RunWriter::open(files, path, {"process_0", "", ""}, Json::object());
  std::vector<std::string> names;
  for (int i = 0; i < 2; ++i) {
    const ProcessIdentity child = {"process_0", "", parent->run_id()};
    names.push_back(RunWriter::open(files, path, child, Json::object())->process());
  }
  CHECK(names == std::vector<std::string>{"process_0_1", "process_0_2"});
}
