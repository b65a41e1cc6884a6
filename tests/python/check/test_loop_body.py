"""Outputs of a kernel that no FX value stands for: checked against the kernel's own loop bodies."""

from __future__ import annotations

import json
import re

import fuseproof
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.utils import counters
from torch._inductor.utils import fresh_cache


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def batch_norm():
    return nn.BatchNorm2d(16), [seeded(2, 16, 4, 4)]


def batch_norm_by_welford():
    return nn.BatchNorm2d(8), [seeded(8, 8, 32, 32)]


def batch_norm_far_from_zero():
    return nn.BatchNorm2d(8), [seeded(8, 8, 32, 32) + 1000]


def layer_norm_after_dropout():
    return nn.Sequential(nn.Dropout(0.1), nn.LayerNorm(32)), [seeded(2, 8, 32)]


def layer_norm_of_half():
    return nn.LayerNorm(64).bfloat16(), [seeded(2, 8, 64).bfloat16()]


def layer_norm_of_a_transposed_half():
    return nn.LayerNorm(16).half(), [seeded(4, 16, 9).half().mT]


def group_norm():
    return nn.GroupNorm(4, 16), [seeded(2, 16, 6, 6)]


MODULES = [
    batch_norm,
    batch_norm_by_welford,
    batch_norm_far_from_zero,
    layer_norm_after_dropout,
    layer_norm_of_half,
    layer_norm_of_a_transposed_half,
    group_norm,
]


# The sum of squares of the variance is computed beside the operand of a library's product, its
# square root after that: what passes from one kernel to the other is no value of the FX graph.
def scaled_product(x, index, weight):
    rows = x[index]
    return (rows @ weight) * rows.var(-1, keepdim=True).rsqrt()


TABLE, INDEX, WEIGHT = seeded(12, 300), torch.tensor([3, 0, 7, 7]), seeded(300, 5)


def captured(folder, function, *arguments, dynamic=None):
    torch._dynamo.reset()
    torch.manual_seed(0)
    with fuseproof.capture(folder):
        result = torch.compile(function, dynamic=dynamic)(*arguments)
        if result.requires_grad:
            result.sigmoid().sum().backward()
    return folder


def outputs_from(run, source):
    """(folder of the site, output) of each."""
    return [
        (path.parent, output)
        for path in sorted(run.glob("*/sites/*/fragment.json"))
        for output in json.loads(path.read_text())["outputs"]
        if output["source"] == source
    ]


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_output_of_a_normalisation_is_checked_and_matches(module, dynamic, tmp_path):
    model, arguments = module()
    run = captured(tmp_path / "run", model.train(), *arguments, dynamic=dynamic)
    assert outputs_from(run, "unchecked") == []
    by_loop_body = outputs_from(run, "loop_body")
    assert by_loop_body
    counts = json.loads((run / "run.json").read_text())["counts"]
    assert counts["outputs_checked"] == counts["outputs"]
    assert counts["outputs_checked_by_loop_body"] == len(by_loop_body)
    results = fuseproof.check(run)
    assert [result.verdict for result in results] == ["match"] * len(results)
    judged = [output for result in results for output in result.details["outputs"]]
    assert {output["verdict"] for output in judged} == {"match"}
    assert sum(output["source"] == "loop_body" for output in judged) == len(by_loop_body)


def live_outputs_of_scaled_product(run):
    """Of the kernel before the library's product, and of the one after it."""
    before, after = outputs_from(run, "loop_body")
    assert before[1]["is_live"] and after[1]["is_live"]
    return before, after


def test_a_live_output_that_only_the_loop_body_has_matches_and_is_said_to(tmp_path):
    run = captured(tmp_path / "run", scaled_product, TABLE, INDEX, WEIGHT)
    results = {result.site: result for result in fuseproof.check(run)}
    assert {result.verdict for result in results.values()} == {"match"}
    for folder, _ in live_outputs_of_scaled_product(run):
        details = results[folder.name].details
        assert details["live_outputs_checked"] == details["live_outputs"]
        assert any("own loop bodies" in note for note in details["notes"])


def without_squares(source):
    """Takes the squares out of a kernel: a plain sum instead of the sum of squares."""
    text, count = re.subn(r"= (tmp\d+) \* \1;", r"= \1;", source.read_text())
    assert count > 0
    source.write_text(text)


def test_a_fault_in_a_live_output_without_an_fx_value_is_found(tmp_path):
    run = captured(tmp_path / "run", scaled_product, TABLE, INDEX, WEIGHT)
    (folder, output), _ = live_outputs_of_scaled_product(run)
    without_squares(folder / "kernel.cpp")
    results = {result.site: result for result in fuseproof.check(run)}
    found = results.pop(folder.name)
    assert (found.verdict, found.stage) == ("kernel_wrong", "kernel")
    judged = {found["buffer"]: found for found in found.details["outputs"]}
    wrong = judged.pop(output["buffer"])
    assert (wrong["source"], wrong["verdict"]) == ("loop_body", "kernel_wrong")
    assert found.output == wrong["argument"]
    assert {other["verdict"] for other in judged.values()} == {"match"}
    assert {result.verdict for result in results.values()} == {"match"}


def test_a_fault_in_a_temporary_without_an_fx_value_is_found(tmp_path):
    model, arguments = batch_norm()
    run = captured(tmp_path / "run", model, *arguments)
    folder, output = outputs_from(run, "loop_body")[0]
    without_squares(folder / "kernel.cpp")
    (result,) = (r for r in fuseproof.check(run) if r.site == folder.name)
    assert (result.verdict, result.stage) == ("kernel_wrong", "kernel")
    judged = {found["buffer"]: found for found in result.details["outputs"]}
    assert judged[output["buffer"]]["source"] == "loop_body"
    assert judged[output["buffer"]]["verdict"] == "kernel_wrong"


def test_a_hit_in_the_cache_of_compiled_graphs_gives_the_same_fragments(tmp_path):
    texts = []
    with fresh_cache():
        for name in ("miss", "hit"):
            counters.clear()
            run = captured(tmp_path / name, scaled_product, TABLE, INDEX, WEIGHT)
            assert counters["inductor"][f"fxgraph_cache_{name}"] == 1
            texts.append([p.read_text() for p in sorted(run.glob("*/sites/*/fragment.json"))])
    assert texts[0] == texts[1]
    assert any('"loop_body"' in text for text in texts[0])


def test_a_loop_body_that_cannot_be_translated_leaves_its_output_unchecked(tmp_path):
    def norm_of_embedding(index, weight):
        return F.layer_norm(F.embedding(index, weight), (300,))

    run = captured(tmp_path / "run", norm_of_embedding, INDEX, TABLE)
    ((_, output),) = outputs_from(run, "unchecked")
    assert output["reason"].endswith(
        "its loop body does not help: an index that is read from a tensor"
    )
    (result,) = fuseproof.check(run)
    assert result.verdict == "match"
    judged = {found["buffer"]: found for found in result.details["outputs"]}
    unchecked = judged.pop(output["buffer"])
    assert (unchecked["source"], unchecked["verdict"]) == ("unchecked", "not_checked")
    assert unchecked["message"] == output["reason"]
    assert judged and {found["verdict"] for found in judged.values()} == {"match"}


def test_a_loop_body_that_the_reference_refuses_costs_no_other_output_its_check(tmp_path):
    run = captured(tmp_path / "run", scaled_product, TABLE, INDEX, WEIGHT)
    (folder, output), _ = live_outputs_of_scaled_product(run)
    path = folder / "fragment.json"
    fragment = json.loads(path.read_text())
    (node,) = (n for n in fragment["graph"]["nodes"] if n["name"] == output["node"])
    node["target"] = "aten.no_such_operator.default"
    path.write_text(json.dumps(fragment))
    (result,) = (r for r in fuseproof.check(run) if r.site == folder.name)
    assert result.verdict == "match"
    assert result.details["live_outputs_checked"] == result.details["live_outputs"] - 1
    judged = {found["buffer"]: found for found in result.details["outputs"]}
    refused = judged.pop(output["buffer"])
    assert refused["verdict"] == "not_checked"
    assert "no_such_operator" in refused["message"]
    assert judged and {found["verdict"] for found in judged.values()} == {"match"}
