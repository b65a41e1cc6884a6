"""Models that were compiled with symbolic sizes: one bundle is checked at several of them."""

from __future__ import annotations

import json

import fuseproof
import pytest
import torch
import torch.nn.functional as F
from torch import nn

SIZES = (5, 8, 19)


def pointwise(n):
    return (lambda x, y: torch.relu(x + y) * y.sigmoid()), [torch.randn(n, 12), torch.randn(12)]


def size_as_a_number(n):
    return (lambda x: x * x.shape[0] + x.shape[1] // 2), [torch.randn(n, n + 3)]


def float_of_a_size(n):
    return (lambda x: x * (1.0 / x.shape[0]) + x.shape[1] ** 0.5), [torch.randn(n, n + 3)]


def reductions(n):
    return (lambda x: (x.mean(0), x.softmax(1), x.sum())), [torch.randn(n, n + 4)]


def half_of_the_rows(n):
    def f(x):
        half = x.shape[0] // 2
        return x[half:] * 2, x[:half].sum(0), x[:, 1:].exp()

    return f, [torch.randn(n, 7)]


def concatenation(n):
    return (
        lambda x, y: (torch.cat([x * 2, y + 1], 0).softmax(-1), torch.cat([x, y], 0).cos()),
        [torch.randn(n, 6), torch.randn(n + 2, 6)],
    )


def transposed_copy(n):
    return (lambda x: x.transpose(0, 1).contiguous().view(-1) + 1), [torch.randn(n, n + 1)]


def regrouped(n):
    return (lambda x: x.view(2, -1).transpose(0, 1).contiguous() + 1), [torch.randn(2 * n, 6)]


def in_place(n):
    def f(x, y):
        x.add_(y)
        return x * y.shape[0]

    return f, [torch.randn(n, 6), torch.randn(n, 6)]


def positions(n):
    return (lambda x: x + torch.arange(x.shape[0])[:, None] + torch.ones(x.shape[1])), [
        torch.randn(n, n + 1)
    ]


def normalised(n):
    return (lambda x: F.layer_norm(F.gelu(x), (24,))), [torch.randn(n, 24)]


def with_matmul(n):
    return (lambda x, w: F.relu(x @ w + 1).t().contiguous().cumsum(0)), [
        torch.randn(n, 8),
        torch.randn(8, 16),
    ]


def padded(n):
    return (lambda x: F.pad(x.sin(), (1, 2)) + 1), [torch.randn(n, n)]


def sizes_that_a_guard_makes_one(n):
    def f(x, first, second, head):
        x = F.conv2d(x, first, stride=2, padding=1).relu()
        return F.conv2d(x, second, stride=2, padding=1).relu().flatten(1) @ head

    return f, [
        torch.randn(n, 3, 4, 4),
        torch.randn(7, 3, 3, 3),
        torch.randn(7, 7, 3, 3),
        torch.randn(7, 6),
    ]


FUNCTIONS = [
    pointwise,
    size_as_a_number,
    float_of_a_size,
    reductions,
    half_of_the_rows,
    concatenation,
    transposed_copy,
    regrouped,
    in_place,
    positions,
    normalised,
    with_matmul,
    padded,
    sizes_that_a_guard_makes_one,
]


class Compilations:
    """A backend that compiles as Inductor does, and counts."""

    def __init__(self):
        self.count = 0

    def __call__(self, graph, inputs):
        self.count += 1
        from torch._inductor.compile_fx import compile_fx

        return compile_fx(graph, inputs)


def captured(folder, function, calls, graphs=1, limit=None):
    """The run of `function`, compiled with symbolic sizes and called with each of the arguments."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    compilations = Compilations()
    compiled = torch.compile(function, dynamic=True, backend=compilations)
    with torch.no_grad(), fuseproof.capture(folder, calls=limit or len(calls)):
        for args in calls:
            compiled(*args)
            assert compilations.count == graphs
    return folder


def records(run):
    return [
        [json.loads(path.read_text()) for path in sorted(site.glob("calls/*.json"))]
        for site in sorted(run.glob("*/sites/*"))
    ]


def assert_all_is_checked(run):
    counts = json.loads((run / "run.json").read_text())["counts"]
    assert counts["live_outputs"] == counts["live_outputs_checked"] > 0, counts
    results = fuseproof.check(run)
    for result in results:
        assert result.verdict == "match", (result.kernel, result.verdict, result.message)
    return results


@pytest.mark.parametrize("make", FUNCTIONS, ids=lambda make: make.__name__)
def test_every_output_is_checked_at_each_of_three_sizes(make, tmp_path):
    calls = [make(n)[1] for n in SIZES]
    run = captured(tmp_path / "run", make(8)[0], calls)
    for result, recorded in zip(assert_all_is_checked(run), records(run), strict=True):
        assert len(recorded) == result.details["calls"] == len(SIZES)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv = nn.LayerNorm(32), nn.Linear(32, 96)
        self.out = nn.Linear(32, 32)
        self.mlp = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.qkv(self.norm(x)).view(batch, length, 3, 4, 8).permute(2, 0, 3, 1, 4)
        scores = (parts[0] @ parts[1].transpose(-1, -2) * 8**-0.5).softmax(-1)
        mixed = (scores @ parts[2]).transpose(1, 2).reshape(batch, length, 32)
        x = x + self.out(mixed)
        return x + self.mlp(x)


def test_a_transformer_is_checked_at_each_of_three_sizes(tmp_path):
    model = nn.Sequential(Block(), Block()).eval()
    calls = [[torch.randn(batch, length, 32)] for batch, length in ((2, 9), (3, 16), (5, 33))]
    # Dynamo compiles the blocks of a Sequential one by one.
    assert_all_is_checked(captured(tmp_path / "run", model, calls, graphs=2))


def test_a_fault_that_shows_at_one_size_alone_is_found_there(tmp_path):
    run = captured(tmp_path / "run", *_sines([5, 8, 19]))
    source = next(run.glob("*/sites/*/kernel.cpp"))
    text = source.read_text()
    healthy = "static_cast<float>(2.0)"
    assert healthy in text
    source.write_text(text.replace(healthy, "static_cast<float>(ks0 > 16 ? 3.0 : 2.0)"))
    (result,) = fuseproof.check(run)
    assert result.is_finding
    assert result.details["call"] == 2
    assert "19" in result.details["outputs"][0]["layout"]
    next(run.glob("*/sites/*/calls/2.json")).unlink()
    (result,) = fuseproof.check(run)
    assert result.verdict == "match", result.message


def _sines(sizes):
    return (lambda x: x.sin() * 2), [[torch.randn(n, n + 1)] for n in sizes]


def test_calls_with_sizes_that_are_on_record_leave_room_for_others(tmp_path):
    run = captured(tmp_path / "run", *_sines([6, 6, 9, 6, 12]), limit=3)
    (recorded,) = records(run)
    assert [call["arguments"][0]["layout"]["shape"][0] for call in recorded] == [6, 9, 12]
    assert [call["step"] for call in recorded] == [0, 2, 4]


def test_symbols_that_no_argument_shows_are_read_off_the_graphs_inputs(tmp_path):
    # The flattened kernel knows the product alone.
    run = captured(tmp_path / "run", lambda x: (x + 1) @ x.t() + x.shape[0], [[torch.randn(6, 5)]])
    for (call,) in records(run):
        assert {5, 6} <= set(call["symbols"].values())


def test_a_dimension_that_is_marked_as_dynamic_is_captured(tmp_path):
    torch._dynamo.reset()
    x = torch.randn(6, 5)
    torch._dynamo.mark_dynamic(x, 0)
    compiled = torch.compile(lambda x: x.softmax(0))
    with fuseproof.capture(tmp_path / "run", calls=2):
        compiled(x)
        compiled(torch.randn(9, 5))
    assert_all_is_checked(tmp_path / "run")
    (recorded,) = records(tmp_path / "run")
    assert len(recorded) == 2


def test_a_second_size_that_makes_torch_compile_for_all_sizes_is_captured(tmp_path):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: x.softmax(0))
    with fuseproof.capture(tmp_path / "run", calls=2):
        for n in (6, 9, 11):
            compiled(torch.randn(n, 5))
    assert_all_is_checked(tmp_path / "run")
    assert [len(calls) for calls in records(tmp_path / "run")] == [1, 2]


def test_a_size_that_data_decides_is_checked_too(tmp_path):
    torch._dynamo.reset()

    def f(x):
        places = x.nonzero()
        return (places * 2).sum(0), places + 1

    with (
        torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True),
        fuseproof.capture(tmp_path / "run", calls=3),
    ):
        compiled = torch.compile(f, dynamic=True, fullgraph=True)
        for n in SIZES:
            compiled(torch.randn(n, 6).relu())
    assert_all_is_checked(tmp_path / "run")


def test_a_kernel_whose_symbols_no_call_shows_says_so(tmp_path):
    run = captured(tmp_path / "run", *_sines([6]))
    (path,) = run.glob("*/sites/*/fragment.json")
    fragment = json.loads(path.read_text())
    (output,) = fragment["outputs"]
    output["layout"] = {"dtype": "float32", "shape": ["u7"], "strides": [1], "offset": 0}
    path.write_text(json.dumps(fragment))
    (result,) = fuseproof.check(run)
    assert result.verdict == "not_checked"
    assert "depend on u7" in result.message


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_input_without_elements_is_known(dynamic, tmp_path):
    torch._dynamo.reset()

    def f(x, nothing):
        return torch.cat([x, nothing], 0).sin(), nothing.sum(0) + x[0], nothing.mean(0) * x[1]

    with fuseproof.capture(tmp_path / "run"):
        torch.compile(f, dynamic=dynamic)(torch.randn(6, 5), torch.randn(0, 5))
    assert_all_is_checked(tmp_path / "run")
