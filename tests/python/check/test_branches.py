"""Kernels of graphs that a model calls on a condition."""

from __future__ import annotations

import json

import fuseproof
import jsonschema
import torch
from support import ROOT


def either(x):
    y = torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x * 2,))
    return y * 3


def captured(folder, *inputs):
    torch._dynamo.reset()
    with torch.no_grad(), fuseproof.capture(folder):
        compiled = torch.compile(either)
        for x in inputs:
            compiled(x)
    return {result.kernel: result for result in fuseproof.check(folder)}


def kernel_with(operation, results):
    (result,) = [result for kernel, result in results.items() if operation in kernel]
    return result


def test_kernels_of_both_branches_are_checked(tmp_path):
    x = torch.rand(8, 4)
    results = captured(tmp_path / "run", x, -x)
    assert kernel_with("sin", results).verdict == "match"
    assert kernel_with("cos", results).verdict == "match"
    assert {result.verdict for result in results.values()} == {"match"}


def test_a_kernel_of_a_branch_that_was_not_taken_says_what_to_do(tmp_path):
    results = captured(tmp_path / "run", torch.rand(8, 4))
    assert kernel_with("sin", results).verdict == "match"
    left_out = kernel_with("cos", results)
    assert left_out.verdict == "not_checked"
    assert not left_out.is_finding
    assert "lambda x: x.cos() - 1" in left_out.user_line
    assert "a branch of a cond" in left_out.details["message"]
    assert "Capture the model with inputs that lead there" in left_out.details["message"]


def test_the_graphs_on_record_hold_those_that_they_call(tmp_path):
    captured(tmp_path / "run", torch.rand(8, 4))
    schema = json.loads((ROOT / "docs/schema/fragment.schema.json").read_text())
    of_graph = {"$ref": "#/$defs/graph", "$defs": schema["$defs"]}
    (folder,) = (tmp_path / "run").glob("*/graphs/0")
    for name in ("graph", "aten", "dynamo"):
        document = json.loads((folder / f"{name}.json").read_text())
        assert document["problems"] == {}
        graph = document["graph"]
        jsonschema.validate(graph, of_graph)
        (cond,) = [node for node in graph["nodes"] if "cond" in node.get("target", "")]
        named = [argument["subgraph"] for argument in cond["arguments"][1:3]]
        assert set(named) == set(graph["subgraphs"])
        assert [
            any(operation in node.get("target", "") for node in graph["subgraphs"][name]["nodes"])
            for name, operation in zip(named, ("sin", "cos"), strict=True)
        ] == [True, True]
