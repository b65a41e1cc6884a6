#include "check/engine.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <new>
#include <stdexcept>

#include "fragment/narrowed.h"
#include "small_run.h"
#include "temporary_folder.h"

using namespace fuseproof;

namespace {

using Floats = std::span<float>;

Floats floats_of(Arena& arena, std::size_t storage) {
  const auto bytes = arena.storage(storage);
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

// A kernel as a function on the arena, in this process.
struct FakeKernel : KernelRunner {
  using Body = std::function<KernelRun(Arena&)>;
  explicit FakeKernel(Body body) : body(std::move(body)) {}
  KernelRun prepare(const SiteBundle&) override { return prepared; }
  KernelRun run(const SiteBundle&, const CallRecord& call, Arena& arena,
                const RunLimits&) override {
    KernelRun result = body(arena);
    if (result.mxcsr_after == 0) result.mxcsr_after = call.mxcsr;
    return result;
  }
  Body body;
  KernelRun prepared;
};

// What goes wrong in a reference; the last three in a fragment that has a loop body.
struct Faults {
  std::string exception = {};
  std::string loop_body_exception = {}, loop_body_error = {}, loop_body_no_oracle = {};
};

// The fragment x + x, worked out by hand; sums in float64 are exact, and the envelope and the span
// have no width.
struct FakeReference : ReferenceRunner {
  explicit FakeReference(Faults given = {}) : faults(std::move(given)) {}
  Faults faults;

  ReferenceResult run(const Fragment& fragment, const CallRecord&, const Arena& inputs,
                      const std::vector<ReferenceMode>& modes) override {
    const ReferenceMode mode = modes.at(0);
    std::array<float, 4> values;
    std::memcpy(values.data(), inputs.storage(0).data(), sizeof(values));
    ReferenceRun run;
    run.exception = faults.exception;
    if (std::ranges::any_of(fragment.graph.nodes, is_of_loop_body)) {
      if (!faults.loop_body_error.empty())
        throw Error(ErrorKind::kUnsupported, faults.loop_body_error);
      if (run.exception.empty()) run.exception = faults.loop_body_exception;
      if (mode == ReferenceMode::kFloat64) run.no_oracle = faults.loop_body_no_oracle;
    }
    std::vector<std::vector<double>> outputs;
    if (run.exception.empty() && run.no_oracle.empty()) {
      const auto checked = std::ranges::count_if(fragment.outputs, &FragmentOutput::is_checked);
      outputs.resize(static_cast<std::size_t>(checked) * (mode == ReferenceMode::kSpan ? 2 : 1));
    }
    for (auto& output : outputs) {
      for (const float value : values) {
        output.push_back(mode == ReferenceMode::kEnvelope ? 0 : 2.0 * value);
      }
    }
    return packed(std::move(run), outputs,
                  mode == ReferenceMode::kNative ? DType::kFloat32 : DType::kFloat64);
  }

  static ReferenceResult packed(ReferenceRun run, const std::vector<std::vector<double>>& outputs,
                                DType dtype) {
    ReferenceResult result;
    const std::size_t item = dtype_size_bytes(dtype);
    const std::vector<StorageRequest> requests(outputs.size(), {4 * item, 0});
    result.arena = std::make_shared<Arena>(Arena::create(requests));
    Layout layout = four_floats();
    layout.dtype = dtype;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      for (std::size_t element = 0; element < 4; ++element) {
        const double wide = outputs[i][element];
        const auto narrow = static_cast<float>(wide);
        std::memcpy(result.arena->storage(i).data() + element * item,
                    item == sizeof(double) ? static_cast<const void*>(&wide) : &narrow, item);
      }
      run.outputs.push_back({i, layout});
    }
    result.runs = {run};
    return result;
  }
};

KernelRun add(Arena& arena) {
  for (std::size_t i = 0; i < 4; ++i) floats_of(arena, 1)[i] = 2 * floats_of(arena, 0)[i];
  return {};
}

struct Checked {
  explicit Checked(FakeKernel::Body body, std::string fragment_exception = "",
                   const std::function<void(const Path&)>& edit = {})
      : Checked(std::move(body), Faults{.exception = std::move(fragment_exception)}, edit) {}

  Checked(FakeKernel::Body body, const Faults& faults,
          const std::function<void(const Path&)>& edit) {
    write_small_run(real_file_system(), folder.path() / "run");
    if (edit) edit(folder.path() / "run" / "p0" / "sites" / "000_cpp_fused_add_0");
    const RunReader run(real_file_system(), folder.path() / "run");
    const auto bench = [&] {
      return Workbench{std::make_unique<FakeKernel>(body), std::make_unique<FakeReference>(faults)};
    };
    results = check_sites(run, run.sites(), bench, CheckPlan{});
    REQUIRE(results.size() == 1);
  }
  const SiteResult& result() const { return results[0]; }

  TemporaryFolder folder;
  std::vector<SiteResult> results;
};

void write_fragment(const Path& site, const Fragment& fragment) {
  real_file_system().write_text_atomically(site / "fragment.json", to_json(fragment).dump());
}

// A loop body computes the output a second time.
Fragment with_loop_body() {
  Fragment fragment = add_fragment();
  Node node = fragment.graph.nodes.back();
  node.name = "buf0.add";
  fragment.graph.nodes.push_back(node);
  FragmentOutput output = fragment.outputs[0];
  output.source = OutputSource::kLoopBody;
  output.node = node.name;
  fragment.outputs.push_back(output);
  return fragment;
}

void add_loop_body(const Path& site) { write_fragment(site, with_loop_body()); }

}  // namespace

TEST_CASE("a right kernel matches, with the user's line and the output described") {
  const Checked checked(add);
  CHECK(checked.result().verdict == Verdict::kMatch);
  CHECK(checked.result().user_line == "model.py:12: return x + x");
  CHECK(checked.result().outputs.at(0).layout == "float32[4]");
  CHECK(exit_status(checked.results) == 0);
}

TEST_CASE("live outputs are counted, and those that were judged") {
  const Checked whole(add);
  CHECK(whole.result().live_outputs == 1);
  CHECK(whole.result().live_outputs_checked == 1);
  const Checked crashed([](Arena&) {
    KernelRun run;
    run.outcome = KernelOutcome::kCrashed;
    return run;
  });
  CHECK(crashed.result().live_outputs_checked == 0);
}

TEST_CASE("a wrong element is found, placed and valued") {
  const Checked checked([](Arena& arena) {
    add(arena);
    floats_of(arena, 1)[2] = 6;
    return KernelRun{};
  });
  const SiteResult& result = checked.result();
  CHECK(result.verdict == Verdict::kKernelWrong);
  CHECK(result.stage == Stage::kKernel);
  const OutputResult& output = result.outputs.at(0);
  CHECK(output.worst_index == "[2]");
  CHECK(output.kernel_value == "6");
  CHECK(output.eager_value == "7");
  CHECK(output.exact_value == "7");
  REQUIRE(output.minimum_tolerance);
  CHECK(output.minimum_tolerance->absolute == 1);
  CHECK(output.kernel_error == 1.0);
  CHECK(exit_status(checked.results) == 1);
}

TEST_CASE("an element that is never written is found although both runs are alike otherwise") {
  const Checked checked([](Arena& arena) {
    for (std::size_t i = 0; i < 3; ++i) floats_of(arena, 1)[i] = 2 * floats_of(arena, 0)[i];
    return KernelRun{};
  });
  CHECK(checked.result().verdict == Verdict::kKernelWrong);
  CHECK(checked.result().message == "the kernel leaves 4 bytes of out_ptr0 (buf0) unwritten");
}

TEST_CASE("a part of an output that another kernel writes may hold anything") {
  // A piece of a concatenation: the argument is the whole result, the kernel writes its first half.
  const auto half = [](const Path& site) {
    Fragment fragment = add_fragment();
    const SymbolicLayout layout = {DType::kFloat32, {2}, {1}, 0};
    fragment.outputs[0].layout = layout;
    for (Node& node : fragment.graph.nodes) node.values = {layout};
    real_file_system().write_text_atomically(site / "fragment.json", to_json(fragment).dump());
  };
  const auto add_half = [](Arena& arena) {
    for (std::size_t i = 0; i < 2; ++i) floats_of(arena, 1)[i] = 2 * floats_of(arena, 0)[i];
    return KernelRun{};
  };
  // The fake reference gives four elements: what is shown is that neither the gap nor its poison is
  // held against the kernel.
  const Checked checked(add_half, "", half);
  CHECK(checked.result().difference == DifferenceKind::kShape);
  CHECK(checked.result().message.find("held before") == std::string::npos);
}

TEST_CASE("a result that depends on uninitialised memory is found") {
  const Checked checked([](Arena& arena) {
    const float before = floats_of(arena, 1)[0];
    add(arena);
    floats_of(arena, 1)[3] = std::isnan(before) ? 200 : 201;
    return KernelRun{};
  });
  CHECK(checked.result().verdict == Verdict::kKernelWrong);
  CHECK(checked.result().message.find("held before it was written") != std::string::npos);
}

TEST_CASE("a kernel that gives another answer each time is nondeterministic") {
  auto runs = std::make_shared<std::atomic<int>>(0);
  const Checked checked([runs](Arena& arena) {
    add(arena);
    floats_of(arena, 1)[1] = static_cast<float>((*runs)++);
    return KernelRun{};
  });
  CHECK(checked.result().verdict == Verdict::kNondeterministic);
}

TEST_CASE("a kernel that repeats itself now and then is nondeterministic, too") {
  auto runs = std::make_shared<std::atomic<int>>(0);
  const Checked checked([runs](Arena& arena) {
    add(arena);
    // As after the other poison, and the same again in the third run.
    const int run = (*runs)++;
    floats_of(arena, 1)[1] = run == 0 || run == 4 ? 7.0F : 8.0F;
    return KernelRun{};
  });
  CHECK(checked.result().verdict == Verdict::kNondeterministic);
}

namespace {

// The same values, as the reference of these tests has it, by an op that adds to places: in an
// order that PyTorch leaves open with `accumulate`.
void make_it_a_sum(const Path& site, bool accumulate) {
  Fragment fragment = add_fragment();
  Node& node = fragment.graph.nodes.back();
  node.target = "aten.index_put.default";
  const Argument x{NodeRef{"arg0_1"}};
  node.arguments = {x, {ArgumentList{x}}, x, {accumulate}};
  write_fragment(site, fragment);
}

void accumulate(const Path& site) { make_it_a_sum(site, true); }
void overwrite(const Path& site) { make_it_a_sum(site, false); }

// One more output, which nothing is known of.
void add_unchecked_output(const Path& site, bool is_live) {
  KernelSpec spec = add_spec();
  spec.arguments.push_back({"out_ptr1", ArgumentRole::kOut, "float*", "buf1", {}});
  real_file_system().write_text_atomically(site / "kernel.json", to_json(spec).dump());
  Fragment fragment = add_fragment();
  fragment.outputs.push_back({.argument = 2,
                              .buffer = "buf1",
                              .source = OutputSource::kUnchecked,
                              .node = "",
                              .layout = std::nullopt,
                              .is_live = is_live,
                              .reason = "no FX value"});
  write_fragment(site, fragment);
  const Path file = site / "calls" / "0.json";
  Json call = parse_json(real_file_system().read_text(file), file.string());
  call["storages"].push_back({{"size_bytes", 16}, {"address_mod_64", 0}, {"omitted", "output"}});
  call["arguments"].push_back({{"storage", 2}, {"layout", to_json(four_floats())}});
  real_file_system().write_text_atomically(file, call.dump());
}

// Two results by turns, `distance` units in the last place apart (7 is the right one).
FakeKernel::Body unsteady(int distance) {
  return [distance, runs = std::make_shared<std::atomic<int>>(0)](Arena& arena) {
    add(arena);
    if ((*runs)++ % 3 == 0) floats_of(arena, 1)[2] = 7 + static_cast<float>(distance) * 0x1p-21F;
    return KernelRun{};
  };
}

}  // namespace

TEST_CASE("sums in an order that PyTorch leaves open need not repeat themselves") {
  const Checked checked(unsteady(1), "", accumulate);
  CHECK(checked.result().verdict == Verdict::kUnspecified);
  CHECK(checked.result().message.find("use_deterministic_algorithms") != std::string::npos);
  CHECK(exit_status(checked.results) == 0);
}

TEST_CASE("sums that do not repeat themselves must be right each time") {
  const Checked checked(unsteady(1000), "", accumulate);
  CHECK(checked.result().verdict == Verdict::kNondeterministic);
  CHECK(checked.result().outputs.at(0).kernel_value == "7.00047684");
}

TEST_CASE("what does not add up must repeat itself") {
  CHECK(Checked(unsteady(1), "", overwrite).result().verdict == Verdict::kNondeterministic);
}

TEST_CASE("a kernel without a reference must repeat itself") {
  const auto forget = [](const Path& site) {
    Fragment fragment = add_fragment();
    fragment.outputs[0].source = OutputSource::kUnchecked;
    fragment.outputs[0].reason = "no FX value";
    fragment.failure = "no output is checked";
    write_fragment(site, fragment);
  };
  CHECK(Checked(unsteady(1), "", forget).result().verdict == Verdict::kNondeterministic);
}

TEST_CASE("a wrong output stays the news beside one that does not repeat itself") {
  // out_ptr0 is judged and wrong; out_ptr1 is live, has no reference, and wavers.
  const auto add_output = [](const Path& site) { add_unchecked_output(site, /*is_live=*/true); };
  const auto kernel = [runs = std::make_shared<std::atomic<int>>(0)](Arena& arena) {
    add(arena);
    floats_of(arena, 1)[2] = 6;
    for (float& value : floats_of(arena, 2)) value = static_cast<float>((*runs)++ % 3);
    return KernelRun{};
  };
  const Checked checked(kernel, "", add_output);
  CHECK(checked.result().verdict == Verdict::kKernelWrong);
  CHECK(checked.result().outputs.at(0).kernel_value == "6");
  CHECK(std::ranges::any_of(checked.result().notes, [](const std::string& note) {
    return note.starts_with("two runs on the same inputs leave different bytes in out_ptr1");
  }));
}

TEST_CASE("a temporary need not repeat itself") {
  const auto add_output = [](const Path& site) { add_unchecked_output(site, /*is_live=*/false); };
  const auto kernel = [runs = std::make_shared<std::atomic<int>>(0)](Arena& arena) {
    add(arena);
    for (float& value : floats_of(arena, 2)) value = static_cast<float>((*runs)++ % 3);
    return KernelRun{};
  };
  const Checked checked(kernel, "", add_output);
  CHECK(checked.result().verdict == Verdict::kMatch);
  CHECK(checked.result().notes.at(0).ends_with("a temporary of its own"));
}

TEST_CASE("a kernel that changes its input is found") {
  const Checked checked([](Arena& arena) {
    add(arena);
    floats_of(arena, 0)[0] = 5;
    return KernelRun{};
  });
  CHECK(checked.result().verdict == Verdict::kKernelWrong);
  CHECK(checked.result().difference == DifferenceKind::kMutation);
}

TEST_CASE("another floating-point mode afterwards is a side effect") {
  const Checked checked([](Arena& arena) {
    add(arena);
    KernelRun run;
    run.mxcsr_after = 0x9fc0;
    return run;
  });
  CHECK(checked.result().difference == DifferenceKind::kSideEffect);
}

TEST_CASE("an overwrite is a finding, an overread a note") {
  const auto hit = [](bool is_write) {
    return [is_write](Arena& arena) {
      add(arena);
      KernelRun run;
      run.guard_hits = {{1, 16, is_write}};
      return run;
    };
  };
  const Checked write(hit(true));
  CHECK(write.result().verdict == Verdict::kOutOfBounds);
  CHECK(write.result().message ==
        "the kernel writes to byte 16 of out_ptr0 (buf0), which has 16 bytes");
  const Checked read(hit(false));
  CHECK(read.result().verdict == Verdict::kMatch);
  REQUIRE(read.result().notes.size() == 1);
}

TEST_CASE("crashed, hung and unbuilt kernels are verdicts of their own") {
  const auto ending = [](KernelOutcome outcome) {
    return [outcome](Arena&) {
      KernelRun run;
      run.outcome = outcome;
      run.message = "why";
      return run;
    };
  };
  CHECK(Checked(ending(KernelOutcome::kCrashed)).result().verdict == Verdict::kCrashed);
  CHECK(Checked(ending(KernelOutcome::kHung)).result().verdict == Verdict::kHung);
  CHECK(Checked(ending(KernelOutcome::kDidNotLoad)).result().verdict == Verdict::kDidNotBuild);
}

TEST_CASE("exceptions: both sides match, one side differs") {
  const auto raise = [](Arena&) {
    KernelRun run;
    run.outcome = KernelOutcome::kException;
    run.message = "std::runtime_error: index out of bounds";
    return run;
  };
  CHECK(Checked(raise, "IndexError").result().verdict == Verdict::kMatch);
  const Checked kernel_only(raise);
  CHECK(kernel_only.result().verdict == Verdict::kKernelWrong);
  CHECK(kernel_only.result().difference == DifferenceKind::kException);
  CHECK(Checked(add, "IndexError").result().difference == DifferenceKind::kException);
}

TEST_CASE("a loop body that cannot be run leaves the other outputs their verdict") {
  const Faults raising{.loop_body_exception = "node `buf0.add`: raises"};
  const Faults refusing{.loop_body_error = "no such operator"};
  for (const Faults& faults : {raising, refusing}) {
    const Checked checked(add, faults, add_loop_body);
    const SiteResult& result = checked.result();
    CHECK(result.verdict == Verdict::kMatch);
    REQUIRE(result.outputs.size() == 2);
    CHECK(result.outputs[0].source == "fx");
    CHECK(result.outputs[0].judgement.verdict == Verdict::kMatch);
    CHECK(result.outputs[1].judgement.verdict == Verdict::kNotChecked);
    CHECK(result.outputs[1].judgement.message.starts_with("its loop body cannot be run: "));
    CHECK(result.live_outputs_checked == 1);
  }
}

TEST_CASE("a loop body that has no float64 form leaves the other outputs theirs") {
  const auto add_wrongly = [](Arena& arena) {
    add(arena);
    floats_of(arena, 1)[2] = 6;
    return KernelRun{};
  };
  const Faults faults{.loop_body_no_oracle = "no float64 form"};
  const Checked checked(add_wrongly, faults, add_loop_body);
  const SiteResult& result = checked.result();
  REQUIRE(result.outputs.size() == 2);
  CHECK(result.outputs[0].judgement.verdict == Verdict::kKernelWrong);
  CHECK(result.outputs[1].judgement.verdict == Verdict::kNoOracle);
}

TEST_CASE("a kernel that raises is not judged by a loop body that cannot be run") {
  const Faults faults{.loop_body_exception = "raises"};
  const auto raise = [](Arena&) {
    KernelRun run;
    run.outcome = KernelOutcome::kException;
    run.message = "std::runtime_error: index out of bounds";
    return run;
  };
  const auto only_loop_body = [](const Path& site) {
    Fragment fragment = with_loop_body();
    fragment.outputs.erase(fragment.outputs.begin());
    write_fragment(site, fragment);
  };
  const Checked raising(raise, faults, only_loop_body);
  CHECK(raising.result().verdict == Verdict::kNotChecked);
  const Checked quiet(add, faults, only_loop_body);
  CHECK(quiet.result().verdict == Verdict::kNotChecked);
}

TEST_CASE("a loop body whose sizes are not on record leaves the other outputs their verdict") {
  const auto symbolic = [](const Path& site) {
    Fragment fragment = with_loop_body();
    fragment.graph.nodes.back().arguments.push_back({Symbol{"u0"}});
    write_fragment(site, fragment);
  };
  const Checked checked(add, Faults{}, symbolic);
  const SiteResult& result = checked.result();
  CHECK(result.verdict == Verdict::kMatch);
  REQUIRE(result.outputs.size() == 2);
  CHECK(result.outputs[0].judgement.verdict == Verdict::kMatch);
  CHECK(result.outputs[1].judgement.verdict == Verdict::kNotChecked);
  CHECK(result.outputs[1].judgement.message.starts_with("its sizes depend on u0"));
}

TEST_CASE("an overwrite is found in a kernel that raises, too") {
  const Checked checked(
      [](Arena&) {
        KernelRun run;
        run.outcome = KernelOutcome::kException;
        run.message = "std::runtime_error: index out of bounds";
        run.guard_hits = {{1, 16, true}};
        return run;
      },
      "IndexError");
  CHECK(checked.result().verdict == Verdict::kOutOfBounds);
}

TEST_CASE("a damaged call is an error that does not hide what another call shows") {
  const auto damage_second = [](const Path& site) {
    FileSystem& files = real_file_system();
    files.write_text_atomically(site / "calls" / "1.json", "{");
  };
  const Checked wrong(
      [](Arena& arena) {
        add(arena);
        floats_of(arena, 1)[2] = 6;
        return KernelRun{};
      },
      "", damage_second);
  CHECK(wrong.result().verdict == Verdict::kKernelWrong);
  CHECK(wrong.result().error == ErrorKind::kBadInput);
  REQUIRE(wrong.result().notes.size() == 1);
  CHECK(wrong.result().notes[0].starts_with("call 1: "));
  CHECK(exit_status(wrong.results) == 2);
}

TEST_CASE("a kernel without a reference still has to behave, and is not checked otherwise") {
  const auto drop_reference = [](const Path& site) {
    Fragment fragment;
    fragment.failure = "no origin";
    real_file_system().write_text_atomically(site / "fragment.json", to_json(fragment).dump());
  };
  const Checked good(add, "", drop_reference);
  CHECK(good.result().verdict == Verdict::kNotChecked);
  CHECK(good.result().message == "no reference: no origin");
  CHECK(exit_status(good.results) == 3);
}

TEST_CASE("a damaged bundle is an error of its site and gives exit status 2") {
  const Checked checked(add, "", [](const Path& site) {
    real_file_system().write_text_atomically(site / "fragment.json", "{");
  });
  REQUIRE(checked.result().error);
  CHECK(checked.result().kernel == "cpp_fused_add_0");
  CHECK(exit_status(checked.results) == 2);
}

TEST_CASE("a kernel for which memory does not suffice is not checked, and the rest goes on") {
  const Checked checked([](Arena&) -> KernelRun { throw std::bad_alloc(); });
  CHECK(checked.result().verdict == Verdict::kNotChecked);
  CHECK_FALSE(checked.result().error);
  CHECK(checked.result().message.find("not enough memory") != std::string::npos);
  CHECK(exit_status(checked.results) == 3);
}

TEST_CASE("any other exception is an internal error of its site") {
  const Checked checked([](Arena&) -> KernelRun { throw std::out_of_range("vector::at"); });
  CHECK(checked.result().error == ErrorKind::kInternal);
  CHECK(checked.result().message == "internal error of Fuseproof: vector::at");
  CHECK(exit_status(checked.results) == 3);
}

TEST_CASE("the JSON of a result names the output that decided it") {
  CHECK(to_json(Checked(add).result())["deciding_output"] == "out_ptr0");
  const Checked crashed([](Arena&) {
    KernelRun run;
    run.outcome = KernelOutcome::kCrashed;
    return run;
  });
  CHECK(to_json(crashed.result())["deciding_output"] == "");
}

TEST_CASE("a site without a recorded call is not checked") {
  const Checked checked(
      add, "", [](const Path& site) { real_file_system().remove(site / "calls" / "0.json"); });
  CHECK(checked.result().verdict == Verdict::kNotChecked);
  CHECK(checked.result().message == "no call of it was recorded");
  CHECK(checked.result().user_line == "model.py:12: return x + x");
}

TEST_CASE("a site of a sub-graph without a recorded call says how to get one") {
  const Checked checked(add, "", [](const Path& site) {
    real_file_system().remove(site / "calls" / "0.json");
    KernelSpec spec = add_spec();
    spec.graph = "0.1";
    real_file_system().write_text_atomically(site / "kernel.json", to_json(spec).dump());
  });
  CHECK(checked.result().verdict == Verdict::kNotChecked);
  CHECK(checked.result().message.find("Capture the model with inputs that lead there") !=
        std::string::npos);
}

TEST_CASE("several workers give the results in the order of the sites") {
  const TemporaryFolder folder;
  const auto writer = write_small_run(real_file_system(), folder.path() / "run");
  const std::string blob = writer->write_blob(std::as_bytes(std::span(kInputValues)));
  for (int i = 1; i < 9; ++i) {
    KernelSpec spec = add_spec();
    spec.site = "00" + std::to_string(i) + "_cpp_fused_add_0";
    writer->write_site(spec, add_fragment(), "source", "");
    writer->write_call(spec.site, add_call(blob));
  }
  const RunReader run(real_file_system(), folder.path() / "run");
  const auto bench = [] {
    return Workbench{std::make_unique<FakeKernel>(add), std::make_unique<FakeReference>()};
  };
  CheckPlan plan;
  plan.jobs = 4;
  std::size_t reported = 0;
  plan.progress = [&](std::size_t done, std::size_t total, const SiteResult&) {
    CHECK(done == ++reported);
    CHECK(total == 9);
  };
  const std::vector<SiteResult> results = check_sites(run, run.sites(), bench, plan);
  REQUIRE(results.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) CHECK(results[i].address.site == run.sites()[i].site);
}

TEST_CASE("a cancelled check keeps what it has") {
  const TemporaryFolder folder;
  write_small_run(real_file_system(), folder.path() / "run");
  const RunReader run(real_file_system(), folder.path() / "run");
  CheckPlan plan;
  plan.is_cancelled = [] { return true; };
  const auto bench = [] {
    return Workbench{std::make_unique<FakeKernel>(add), std::make_unique<FakeReference>()};
  };
  CHECK(check_sites(run, run.sites(), bench, plan).empty());
}
