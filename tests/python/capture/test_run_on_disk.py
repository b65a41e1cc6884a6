"""What a capture writes: files, fields, storages."""

import hashlib
import json
import math
import sys

import evaluator
import fuseproof
import programs
import pytest
import torch
from fuseproof import _calls


def test_a_site_says_what_the_kernel_is_and_how_it_was_built(run_captured):
    function, args = programs.PROGRAMS["pointwise"]()
    captured = run_captured(function, *args)
    (site,) = captured.sites
    spec, artifact = site.spec, site.spec["artifact"]
    assert site.folder.name == spec["site"] == f"000_{spec['kernel']}"
    assert [argument["role"] for argument in spec["arguments"]][:2] == ["in", "in"]
    assert spec["arguments"][0]["type"] == "const float*"
    assert spec["threads"] == torch.get_num_threads()
    assert spec["is_static"] and not spec["cpp_wrapper"]
    assert {"add", "relu"} <= set(spec["nodes"])
    assert artifact["entry"] == "kernel" and artifact["object_file"] == "kernel.so"
    recipe = artifact["recipe"]
    assert "O3" in recipe["flags"] and not any(f.startswith("-") for f in recipe["flags"])
    assert recipe["standard"] == "c++20" and recipe["compiler_version"]
    # The C++ alone, as the generated module holds it.
    assert site.source.startswith("#include <torch/csrc/inductor/cpp_prefix.h>")
    assert "'''" not in site.source and 'extern "C"' in site.source


def test_source_lines_are_the_users(run_captured):
    function, args = programs.PROGRAMS["pointwise"]()
    (site,) = run_captured(function, *args).sites
    (relu,) = (
        n for n in site.fragment["graph"]["nodes"] if n.get("target", "").startswith("aten.relu")
    )
    assert relu["source"]["file"] == programs.__file__
    assert "torch.relu(x + y)" in relu["source"]["text"]


def test_a_graph_lists_kernels_and_external_calls_in_order(run_captured):
    function, args = programs.PROGRAMS["equal_sources"]()
    captured = run_captured(function, *args)
    graph = captured.graph()
    order, targets = graph["order"], {n["name"]: n.get("target") for n in graph["graph"]["nodes"]}
    assert [item["kind"] for item in order] == ["external", "kernel"] * 2 + ["external"]
    assert order[0]["kernel"] == "extern_kernels.addmm"
    assert targets[order[0]["node"]] == "aten.addmm.default"
    assert [item["site"] for item in order if item["kind"] == "kernel"] == [
        site.folder.name for site in captured.sites
    ]
    (graph,) = captured.info["graphs"]
    assert graph["kind"] == "inference" and graph["kernels"] == 2 and graph["external_calls"] == 3


def test_run_json_says_where_the_run_comes_from(run_captured):
    info = run_captured(lambda x: x.sin() + 1, torch.randn(8)).info
    assert info["versions"]["torch"] == torch.__version__
    assert info["versions"]["fuseproof"] == fuseproof.__version__
    assert info["cpu"] == fuseproof.cpu_description()
    assert info["command"][0] == sys.executable
    assert "TORCHINDUCTOR_CACHE_DIR" in info["environment"]
    assert info["inductor_config"]["cpp_wrapper"] is False
    assert info["finished"] >= info["started"]


def test_inputs_are_recorded_as_they_were_before_the_call(run_captured):
    x, y = torch.randn(16, 40), torch.randn(16, 40)
    before = x.clone()

    def mutate(x, y):
        x.add_(y)
        return x.sum()

    (site,) = run_captured(mutate, x, y).sites
    assert not torch.equal(x, before)
    views = site.arguments(site.calls[0])
    recorded = [
        view
        for view, argument in zip(views, site.spec["arguments"], strict=True)
        if argument["value"] == "arg0_1" and argument["role"] != "out"
    ]
    assert recorded and all(torch.equal(view, before) for view in recorded)


def test_a_storage_that_several_arguments_share_is_kept_once_with_its_gaps(run_captured):
    base = torch.arange(96.0)
    left, right = base[0:40].view(5, 8)[:, 0:3], base[40:80].view(5, 8)[:, 2:5]
    captured = run_captured(lambda a, b: a * 2 + b, left, right)
    (site,) = captured.sites
    call = site.calls[0]
    places = {
        argument["value"]: place
        for argument, place in zip(site.spec["arguments"], call["arguments"], strict=True)
    }
    assert places["arg0_1"]["storage"] == places["arg1_1"]["storage"]
    assert places["arg1_1"]["layout"]["offset"] == 42
    assert places["arg0_1"]["layout"]["strides"] == [8, 1]
    entry = call["storages"][places["arg0_1"]["storage"]]
    assert entry["size_bytes"] == base.untyped_storage().nbytes()
    content = (captured.run / "blobs" / entry["blob"]).read_bytes()
    assert content == base.numpy().tobytes()


def test_outputs_are_not_kept(run_captured):
    (site,) = run_captured(lambda x: x.sin() + 1, torch.randn(64)).sites
    call = site.calls[0]
    (output,) = (
        place
        for place, a in zip(call["arguments"], site.spec["arguments"], strict=True)
        if a["role"] == "out"
    )
    entry = call["storages"][output["storage"]]
    assert entry["omitted"] == "output" and "blob" not in entry


def test_with_inputs_layout_no_content_is_written(run_captured):
    captured = run_captured(lambda x: x.sin() + 1, torch.randn(64), inputs="layout")
    (site,) = captured.sites
    assert list((captured.run / "blobs").iterdir()) == []
    assert {entry["omitted"] for entry in site.calls[0]["storages"]} == {"layout", "output"}
    assert site.calls[0]["arguments"][0]["layout"]["shape"] == [64]


def test_beyond_the_byte_budget_layouts_are_kept_and_it_is_said(run_captured, capfd):
    args = torch.randn(64), torch.randn(1024)
    captured = run_captured(lambda a, b: (a.sin(), b.cos()), *args, byte_budget=1000)
    omitted = [e.get("omitted") for s in captured.sites for e in s.calls[0]["storages"]]
    assert omitted.count("budget") == 1
    assert captured.info["blob_bytes"] <= 1000 and captured.info["blob_bytes_refused"] == 4096
    assert "byte budget of 1000" in capfd.readouterr().err


def test_as_many_calls_are_recorded_as_were_asked_for(run_captured):
    captured = run_captured(lambda x: x.sin() + 1, torch.randn(64), calls=2, calls_made=4)
    (site,) = captured.sites
    assert [call["step"] for call in site.calls] == [0, 1]
    assert [call["index"] for call in site.calls] == [0, 1]


def test_calls_of_equal_kernels_in_later_steps_belong_to_their_own_sites(run_captured):
    function, args = programs.PROGRAMS["equal_sources"]()
    captured = run_captured(function, *args, calls=2, calls_made=3)
    for site in captured.sites:
        first, second = site.calls
        assert [first["step"], second["step"]] == [0, 1]
        # The program is deterministic: the same site sees the same inputs again.
        assert [s.get("blob") for s in first["storages"]] == [
            s.get("blob") for s in second["storages"]
        ]


@torch.library.custom_op("fuseproof_tests::raise_above_one", mutates_args=())
def raise_above_one(x: torch.Tensor) -> torch.Tensor:
    if x.max() > 1:
        raise ValueError("on purpose")
    return x - 1


@raise_above_one.register_fake
def _(x):
    return torch.empty_like(x)


def test_after_a_call_that_raised_midway_calls_belong_to_their_own_sites(tmp_path):
    def equal_kernels(x, w):
        return raise_above_one(raise_above_one((x @ w).sin() + 1).sin() + 1)

    compiled = torch.compile(equal_kernels)
    raising, passing = torch.full((8, 8), 0.5), torch.full((8, 8), -1.0)
    with torch.no_grad(), fuseproof.capture(tmp_path / "run"):
        with pytest.raises(ValueError, match="on purpose"):
            compiled(raising, torch.eye(8))
        compiled(passing, torch.eye(8))
    first, second = evaluator.sites(tmp_path / "run")
    assert first.spec["kernel"] == second.spec["kernel"]
    assert torch.equal(first.arguments(first.calls[0])[0], raising)
    between = second.arguments(second.calls[0])[0]
    torch.testing.assert_close(between, passing.sin())
    assert [site.calls[0]["step"] for site in (first, second)] == [0, 1]


@pytest.mark.parametrize(
    ("value", "recorded"),
    [
        (math.nan, {"float": "nan"}),
        (math.inf, {"float": "inf"}),
        (-math.inf, {"float": "-inf"}),
        (0.5, {"float": 0.5}),
        (True, {"integer": 1}),
        (7, {"integer": 7}),
    ],
)
def test_scalar_arguments_are_recorded_as_json_has_them(value, recorded):
    written = {}

    class Writer:
        def write_call(self, site, record):
            written[site] = json.loads(record)

    spec = {"arguments": [{"value": "s0", "role": "size"}]}
    site = _calls.Site("000_kernel", "kernel", spec, {}, "")
    _calls.CallWriter(Writer(), "real").write(site, (value,), 0, {})
    (argument,) = written["000_kernel"]["arguments"]
    assert argument == recorded
    assert not isinstance(argument.get("integer"), bool)


def test_constants_that_are_no_arguments_are_appended_to_the_call(run_captured):
    function, args = programs.PROGRAMS["embedding_and_constants"]()
    (site,) = run_captured(function, *args).sites
    own, recorded = site.spec["arguments"], site.calls[0]["arguments"]
    assert len(recorded) == len(own) + 1
    assert torch.equal(site.arguments(site.calls[0])[-1], torch.arange(1.0, 9.0))
    assert any(item["argument"] == len(own) for item in site.fragment["inputs"])


def test_floating_point_state_is_recorded(run_captured):
    torch.set_flush_denormal(True)
    try:
        (site,) = run_captured(lambda x: x.sin() + 1, torch.randn(64)).sites
    finally:
        torch.set_flush_denormal(False)
    assert site.calls[0]["mxcsr"] == 0x1F80 | 0x8000 | 0x40  # FTZ and DAZ
    assert site.calls[0]["grad_mode"] is False


def test_blobs_are_named_by_their_content(run_captured):
    x = torch.randn(64)
    captured = run_captured(lambda a, b: (a.sin(), b.cos()), x, x.clone())
    names = {e["blob"] for s in captured.sites for e in s.calls[0]["storages"] if "blob" in e}
    assert len(names) == 1
    (path,) = (captured.run / "blobs").iterdir()
    expected = hashlib.sha256(x.numpy().tobytes()).digest()
    assert hashlib.sha256(path.read_bytes()).digest() == expected


def test_a_symbolic_graph_is_recorded_with_its_expressions_and_compiles_once(tmp_path):
    compilations = []

    def backend(graph, inputs):
        compilations.append(graph)
        from torch._inductor.compile_fx import compile_fx

        return compile_fx(graph, inputs)

    compiled = torch.compile(lambda x: x.softmax(0) * x.shape[0], dynamic=True, backend=backend)
    with fuseproof.capture(tmp_path / "run"):
        compiled(torch.randn(10, 14))
        compiled(torch.randn(7, 9))
    assert len(compilations) == 1
    (site,) = evaluator.sites(tmp_path / "run")
    assert not site.spec["is_static"]
    assert "failure" not in site.fragment
    assert sorted(site.spec["symbol_hints"].values()) == [10, 14]
    (path,) = (tmp_path / "run").glob("*/graphs/0/graph.json")
    nodes = {node["name"]: node for node in evaluator.load(path)["graph"]["nodes"]}
    (scaled,) = (n for n in nodes.values() if n.get("target", "").startswith("aten.mul"))
    assert scaled["arguments"][1] == {"node": "arg0_1"}
    assert nodes["arg0_1"]["number"]["hint"] == 10
    rows, columns = scaled["values"][0]["shape"]
    assert nodes["arg0_1"]["number"]["symbol"] == rows
    assert scaled["values"][0]["strides"] == [columns, 1]
