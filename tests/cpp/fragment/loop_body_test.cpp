// Outputs without an FX value, which are sliced out of their own loop bodies.
#include <doctest/doctest.h>

#include "fragment/slicer.h"
#include "records.h"

namespace fuseproof {
namespace {

using namespace fuseproof::testing;  // NOLINT: the vocabulary of these tests

Json node(const std::string& name) { return {{"node", name}}; }
Json index(const std::string& text) { return {{"symbol", text}}; }
Json dtype(const std::string& name) { return {{"dtype", name}}; }

class BodyWriter {
 public:
  using Range = std::pair<std::string, Json>;

  explicit BodyWriter(const std::vector<Range>& iteration,
                      const std::vector<Range>& reduction = {}) {
    json_ = {{"iteration", ranges(iteration)},
             {"reduction", ranges(reduction)},
             {"graph", {{"nodes", Json::array()}}}};
  }

  BodyWriter& op(const std::string& name, const std::string& target,
                 const std::vector<Json>& arguments) {
    json_["graph"]["nodes"].push_back({{"name", name},
                                       {"kind", "call"},
                                       {"target", target},
                                       {"arguments", arguments},
                                       {"keywords", Json::object()},
                                       {"values", Json::array()}});
    return *this;
  }
  BodyWriter& load(const std::string& name, const std::string& buffer, const std::string& at) {
    return op(name, "ops.load", {buffer, index(at)});
  }
  BodyWriter& store(const std::string& buffer, const std::string& at, const std::string& value) {
    return op("store_" + buffer, "ops.store", {buffer, index(at), node(value), nullptr});
  }
  BodyWriter& store_reduction(const std::string& buffer, const std::string& at,
                              const std::string& value) {
    return op("store_" + buffer, "ops.store_reduction", {buffer, index(at), node(value)});
  }
  BodyWriter& reduction(const std::string& name, const std::string& kind, const std::string& value,
                        const std::string& type = "float32") {
    return op(name, "ops.reduction", {dtype(type), dtype(type), kind, node(value)});
  }
  const Json& json() const { return json_; }

 private:
  static Json ranges(const std::vector<Range>& ranges) {
    Json list = Json::array();
    for (const auto& [variable, size] : ranges) {
      list.push_back({{"variable", variable}, {"size", size}});
    }
    return list;
  }

  Json json_;
};

Fragment fragment_of(const GraphWriter& graph, const KernelWriter& kernel) {
  return slice(graph.lowered(), kernel.record()).fragment;
}

std::string text_of(const Fragment& fragment, const std::string& name) {
  const Node* found = fragment.graph.find(name);
  return found == nullptr ? "none" : to_string(*found);
}

// One output, buf0, of a kernel that reads x; no FX value stands for it.
Fragment fragment_of_body(const Json& x, const Json& buffer, const Json& body) {
  GraphWriter graph;
  graph.input("x", x).call("origin", "aten.sin.default", {"x"}, x).buffer("buf0", buffer);
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").step({"x"}, "buf0", {"origin"}).body(body);
  return fragment_of(graph, kernel);
}

TEST_CASE("the un-normalised sum of squares of a variance comes from its loop body") {
  // x[2, 3, 4]; the mean over the first and the last dimension is an FX value, in buf0.
  GraphWriter graph;
  graph.input("x", layout({2, 3, 4}, {12, 4, 1}));
  graph.realised("mean", "aten.mean.dim", {"x"}, "buf0", layout({1, 3, 1}, {3, 1, 1}));
  graph.buffer("buf1", layout({1, 3, 1}, {3, 1, 3}));
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf0").argument("out", "buf1");
  kernel.step({"x"}, "buf0", {"mean"}).step({"x", "buf0"}, "buf1", {"mean"});
  BodyWriter body({{"p0", 3}}, {{"p1", 2}, {"p2", 4}});
  body.load("load", "x", "4*p0 + 12*p1 + p2").load("load_1", "buf0", "p0");
  body.op("sub", "ops.sub", {node("load"), node("load_1")});
  body.op("square", "ops.square", {node("sub")}).reduction("total", "sum", "square");
  body.store_reduction("buf1", "p0", "total");
  kernel.body(body.json());

  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "mean@1 buf1.total@2");
  CHECK(fragment.outputs[0].source == OutputSource::kFx);
  CHECK(fragment.outputs[1].source == OutputSource::kLoopBody);
  CHECK(to_string(*fragment.outputs[1].layout) == "float32[3]");
  REQUIRE(fragment.inputs.size() == 2);
  CHECK(fragment.inputs[0].node == "x.entry.0");
  CHECK(to_string(*fragment.inputs[0].layout) == "float32[3, 2, 4; 4, 12, 1]");
  CHECK(text_of(fragment, "buf0.permuted") ==
        "buf0.permuted = aten.permute.default(mean, [0, 1, 2])");
  CHECK(text_of(fragment, "buf0.flat") == "buf0.flat = aten.reshape.default(buf0.packed, [3])");
  CHECK(text_of(fragment, "buf0.view.3") ==
        "buf0.view.3 = aten.as_strided.default(buf0.flat, [3, 2, 4], [1, 0, 0], 0)");
  CHECK(text_of(fragment, "buf1.sub") == "buf1.sub = aten.sub.Tensor(x.entry.0, buf0.view.3)");
  CHECK(text_of(fragment, "buf1.square") == "buf1.square = aten.mul.Tensor(buf1.sub, buf1.sub)");
  CHECK(text_of(fragment, "buf1.total") ==
        "buf1.total = aten.sum.dim_IntList(buf1.square, [1, 2])");
}

TEST_CASE("Welford's second moment is the sum of squared distances from the mean") {
  BodyWriter body({{"p0", 3}}, {{"p1", 4}});
  body.load("load", "x", "4*p0 + p1").reduction("moments", "welford_reduce", "load");
  body.op("second", "getitem", {node("moments"), 1}).store_reduction("buf0", "p0", "second");
  const Fragment fragment = fragment_of_body(layout({3, 4}, {4, 1}), layout({3}, {1}), body.json());
  CHECK(outputs(fragment) == "buf0.moments.m2@1");
  CHECK(text_of(fragment, "buf0.moments") ==
        "buf0.moments = aten.var_mean.correction(x.entry.0, [1], correction=0)");
  CHECK(fragment.graph.find("buf0.moments")->is_tuple);
  CHECK(text_of(fragment, "buf0.moments.variance") ==
        "buf0.moments.variance = getitem(buf0.moments, 0)");
  CHECK(text_of(fragment, "buf0.moments.m2") ==
        "buf0.moments.m2 = aten.mul.Tensor(buf0.moments.variance, 4.0)");
}

TEST_CASE("half precision is computed in float32 and rounded where it is stored") {
  const Json half = layout({4}, {1}, 0, "bfloat16");
  BodyWriter body({{"p0", 4}});
  body.load("load", "x", "p0").op("half", "ops.constant", {0.5, dtype("bfloat16")});
  body.op("mul", "ops.mul", {node("load"), node("half")}).store("buf0", "p0", "mul");
  const Fragment fragment = fragment_of_body(half, half, body.json());
  CHECK(outputs(fragment) == "buf0.store_buf0.2@1");
  CHECK(text_of(fragment, "buf0.mul.0") ==
        "buf0.mul.0 = prims.convert_element_type.default(x.entry.0, torch.float32)");
  CHECK(text_of(fragment, "buf0.mul") == "buf0.mul = aten.mul.Tensor(buf0.mul.0, 0.5)");
  CHECK(text_of(fragment, "buf0.store_buf0.2") ==
        "buf0.store_buf0.2 = prims.convert_element_type.default(buf0.mul, torch.bfloat16)");
}

TEST_CASE("what one loop body stores is read by the next, in the buffer's order") {
  // buf0 is x transposed and negated; buf1 reads it row by row. Neither has an FX value.
  GraphWriter graph;
  graph.input("x", layout({2, 3}, {3, 1}));
  graph.call("origin", "aten.sin.default", {"x"}, layout({2, 3}, {3, 1}));
  graph.buffer("buf0", layout({3, 2}, {2, 1})).buffer("buf1", layout({6}, {1}));
  KernelWriter kernel;
  kernel.argument("in", "x").argument("out", "buf1");
  BodyWriter first({{"p0", 2}, {"p1", 3}});
  first.load("load", "x", "3*p0 + p1").op("neg", "ops.neg", {node("load")});
  first.store("buf0", "p0 + 2*p1", "neg");
  BodyWriter second({{"p0", 6}});
  second.load("load", "buf0", "p0").op("abs", "ops.abs", {node("load")}).store("buf1", "p0", "abs");
  kernel.step({"x"}, "buf0", {"origin"}, {{"is_stored", false}}).body(first.json());
  kernel.step({"buf0"}, "buf1", {"origin"}).body(second.json());
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "buf1.abs@1");
  CHECK(text_of(fragment, "buf0.permuted") ==
        "buf0.permuted = aten.permute.default(buf0.neg, [1, 0])");
  CHECK(text_of(fragment, "buf0.view.4") ==
        "buf0.view.4 = aten.as_strided.default(buf0.flat, [6], [1], 0)");
}

TEST_CASE("sizes of a loop body may be symbolic") {
  BodyWriter body({{"p0", "s0"}}, {{"p1", 4}});
  body.load("load", "x", "4*p0 + p1").reduction("total", "max", "load");
  body.store_reduction("buf0", "p0", "total");
  const Fragment fragment = fragment_of_body(symbolic_layout({"s0", 4}, {4, 1}),
                                             symbolic_layout({"s0"}, {1}), body.json());
  CHECK(outputs(fragment) == "buf0.total@1");
  CHECK(to_string(*fragment.inputs[0].layout) == "float32[s0, 4]");
  CHECK(text_of(fragment, "buf0.total") == "buf0.total = aten.amax.default(x.entry.0, [1])");
}

TEST_CASE("a number that sizes make is a value, an index over the loops is none") {
  const auto sum_of = [](const std::string& number) {
    const BodyWriter::Range rows = {"p0", "s0"};
    BodyWriter body({rows});
    body.load("load", "x", "p0").op("number", "ops.index_expr", {index(number), dtype("int64")});
    body.op("float", "ops.to_dtype", {node("number"), dtype("float32")});
    body.op("div", "ops.truediv", {node("load"), node("float")}).store("buf0", "p0", "div");
    const Json layout = symbolic_layout({"s0"}, {1});
    return fragment_of_body(layout, layout, body.json());
  };
  const Fragment fragment = sum_of("s0 - 1");
  CHECK(outputs(fragment) == "buf0.div@1");
  CHECK(text_of(fragment, "buf0.float.0") ==
        "buf0.float.0 = aten.full.default([s0], s0 - 1, dtype=torch.int64, device=device('cpu'))");
  CHECK(text_of(fragment, "buf0.float.1") ==
        "buf0.float.1 = prims.convert_element_type.default(buf0.float.0, torch.float32)");
  CHECK(text_of(fragment, "buf0.div") == "buf0.div = aten.div.Tensor(x.entry.0, buf0.float.1)");
  CHECK(sum_of("p0 + 1").outputs[0].reason.ends_with("an index as a value"));
}

TEST_CASE("what is not translated leaves the output unchecked, with the reason") {
  const auto reason = [](const BodyWriter& body) {
    const Fragment fragment = fragment_of_body(vector4(), vector4(), body.json());
    CHECK(outputs(fragment) == "?@1");
    CHECK(fragment.graph.nodes.empty());
    return fragment.outputs[0].reason;
  };
  const BodyWriter::Range four = {"p0", 4};
  const std::string intro = "an output without an FX value: buf0; its loop body does not help: ";
  CHECK(reason(BodyWriter({four})
                   .load("load", "x", "ModularIndexing(p0 + 1, 1, 4)")
                   .store("buf0", "p0", "load")) ==
        intro + "an index that is not affine, ModularIndexing(p0 + 1, 1, 4)");
  CHECK(reason(BodyWriter({four}).load("load", "x", "3 - p0").store("buf0", "p0", "load")) ==
        intro + "an index that is not affine, 3 - p0");
  CHECK(reason(BodyWriter({four})
                   .load("load", "x", "p0")
                   .op("mystery", "ops.mystery", {node("load")})
                   .store("buf0", "p0", "mystery")) == intro + "no translation of `mystery`");
  CHECK(reason(BodyWriter({four})
                   .load("load", "x", "p0")
                   .op("not", "ops.bitwise_not", {node("load")})
                   .store("buf0", "p0", "not")) == intro + "ops.bitwise_not of float32");
  CHECK(reason(BodyWriter({{"p0", 2}}).load("load", "x", "p0").store("buf0", "p0", "load")) ==
        intro + "a store that does not fill buf0");
  CHECK(reason(BodyWriter({four})
                   .load("load", "x", "p0")
                   .op("store", "ops.store", {"buf0", index("p0"), node("load"), "atomic_add"})) ==
        intro + "a store that adds to buf0");
  CHECK(reason(BodyWriter({four}).load("load", "y", "p0").store("buf0", "p0", "load")) ==
        intro + "y has no layout");
}

TEST_CASE("an FX value that a later call may change in place is copied as soon as it is there") {
  // The FX graph adds buf0's value to x and writes the sum into x; a loop body negates buf0's.
  GraphWriter graph;
  graph.input("x").realised("sin", "aten.sin.default", {"x"}, "buf0");
  graph.call("add", "aten.add.Tensor", {"sin", "x"});
  graph.call("copy_", "aten.copy_.default", {"x", "add"}).at("copy_", "x");
  graph.set("mutations", {{"copy_", {"x"}}});
  graph.buffer("buf1").buffer("buf2").buffer_field("buf2", "real", "x");
  KernelWriter kernel;
  kernel.argument("inout", "x").argument("out", "buf0").argument("out", "buf1");
  kernel.step({"x"}, "buf0", {"sin"});
  BodyWriter body({{"p0", 4}});
  body.load("load", "buf0", "p0").op("neg", "ops.neg", {node("load")}).store("buf1", "p0", "neg");
  kernel.step({"buf0"}, "buf1", {"sin"}).body(body.json());
  kernel.step({"x", "buf0"}, "buf2", {"add", "copy_"}, {{"real", "x"}});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "copy_@0 sin@1 buf1.neg@2");
  CHECK(calls(fragment) ==
        "sin buf0.permuted buf0.packed buf0.flat buf0.view.3 buf1.neg add copy_");
}

TEST_CASE("a loop body that reads what the kernel changes in place is refused") {
  GraphWriter graph;
  graph.input("x").call("origin", "aten.sin.default", {"x"});
  graph.buffer("buf0").buffer("buf1").buffer_field("buf1", "real", "x");
  KernelWriter kernel;
  kernel.argument("inout", "x").argument("out", "buf0");
  BodyWriter body({{"p0", 4}});
  body.load("load", "x", "p0").op("neg", "ops.neg", {node("load")}).store("buf0", "p0", "neg");
  kernel.step({"x"}, "buf0", {"origin"}).body(body.json());
  kernel.step({"x"}, "buf1", {"origin"}, {{"real", "x"}});
  const Fragment fragment = fragment_of(graph, kernel);
  CHECK(outputs(fragment) == "?@0 ?@1");
  CHECK(fragment.outputs[1].reason ==
        "an output without an FX value: buf0; its loop body does not help: x is changed in place");
}

}  // namespace
}  // namespace fuseproof
