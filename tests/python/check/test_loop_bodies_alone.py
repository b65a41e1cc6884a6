"""Loop bodies in place of FX values: where a capture hides these from the slicer, each output is
checked by its loop body alone, and agrees with the kernel as it does with the FX graph."""

from __future__ import annotations

import json

import fuseproof
import pytest
import torch
import torch.nn.functional as F
from fuseproof import _kernel_record


@pytest.fixture
def no_fx_values(monkeypatch):
    lowered, step = _kernel_record.GraphFacts.lowered, _kernel_record._step

    def lowered_without_values(facts, constants):
        record = lowered(facts, constants)
        for buffer in record["buffers"].values():
            buffer.pop("origin", None)
        return {**record, "locations": []}

    def step_without_relations(*arguments):
        record = step(*arguments)
        for write in record["writes"]:
            for relation in ("copy", "piece", "consumers"):
                write.pop(relation, None)
        return record

    monkeypatch.setattr(_kernel_record.GraphFacts, "lowered", lowered_without_values)
    monkeypatch.setattr(_kernel_record, "_step", step_without_relations)


def seeded(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def functions_of_one_number(x):
    y = x.sigmoid()
    return (
        y.abs() + y.acos() + y.acosh().nan_to_num() + y.asin() + y.asinh() + y.atan() + y.atanh(),
        x.ceil() + x.floor() + x.round() + x.trunc() + x.sign(),
        x.cos() + y.cosh() + x.sin() + y.sinh() + y.tan() + x.tanh(),
        x.erf() + x.erfc() + y.exp() + y.exp2() + y.expm1() + y.lgamma(),
        y.log() + y.log10() + y.log1p() + y.log2() + y.sqrt() + y.rsqrt() + y.reciprocal(),
        x.neg().relu() + F.gelu(x) + F.silu(x) + F.softplus(x),
        x.isnan() | x.isinf() | (x > 0).logical_not(),
    )


def functions_of_two_numbers(x):
    y = (x + 1).sigmoid()
    return (
        x + y - x * y / (y + 1),
        torch.maximum(x, y) + torch.minimum(x, y) + torch.clamp(x, -0.5, 0.5),
        y**x + y**2 + torch.atan2(x, y) + torch.hypot(x, y) + torch.copysign(y, x),
        torch.fmod(x, 0.75) + torch.remainder(x, -0.75),
        (x == y) | (x != y) & (x < y) ^ (x <= 0) | (x > y) | (y >= 1),
        torch.where(x > 0, x, y) + torch.where(y > 0.5, 1.0, 0.0),
    )


def integers_and_bools(x):
    number, small, flag = (x * 100).long(), (x * 10).to(torch.int8), x > 0
    return (
        number * 3 - number.abs() + small,
        (number & 12) | (small.long() ^ 5),
        ~number + number.relu(),
        flag & ~(x < 1) | (number == small),
        number.sum(-1),
        small.amax(0),
        flag.any(-1),
    )


def reductions(x):
    return x.sum((0, 2)), x.amax(-1), x.amin((0, 1)), x.mean(), x.var(1), x.softmax(-1)


def halves(x):
    half = x.bfloat16()
    return half * 1.5 + half.sigmoid(), half.sum(-1), half.float() * x, half.half().softmax(0)


def views(x):
    return (
        x.transpose(0, 2).contiguous() + 1,
        x[1:, ::2] * 2,
        x[:, :1].expand(-1, 4, -1) - x,
        x.unfold(2, 3, 2).sin(),
    )


FUNCTIONS = [
    functions_of_one_number,
    functions_of_two_numbers,
    integers_and_bools,
    reductions,
    halves,
    views,
]


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_loop_bodies_compute_what_the_kernel_computes(function, dynamic, no_fx_values, tmp_path):
    torch._dynamo.reset()
    with (
        torch.no_grad(),
        torch._inductor.config.patch(fx_graph_cache=False),
        fuseproof.capture(tmp_path / "run"),
    ):
        torch.compile(function, dynamic=dynamic)(seeded(3, 4, 18))
    fragments = [json.loads(p.read_text()) for p in tmp_path.glob("run/*/sites/*/fragment.json")]
    outputs = [output for fragment in fragments for output in fragment["outputs"]]
    assert [output.get("reason") for output in outputs] == [None] * len(outputs)
    assert {output["source"] for output in outputs} == {"loop_body"}
    for result in fuseproof.check(tmp_path / "run"):
        assert result.verdict == "match", result.message
