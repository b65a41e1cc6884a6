"""Kernels that draw random numbers: Inductor's draws are functions of a seed argument, so that the
reference draws the same, and what is compiled stays as it is."""

from __future__ import annotations

import json

import fuseproof
import pytest
import torch
import torch.nn.functional as F


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


X = seeded(40, 70)

DRAWS = {
    "rand": lambda x: torch.rand(40, 70) + x,
    "randn_transposed": lambda x: torch.randn(70, 40).t() * x,
    "randint": lambda x: torch.randint(-5, 1000, (40, 70)) + x,
    "rand_like_double": lambda x: torch.rand_like(x.double()) * 2,
    "bernoulli": lambda x: torch.where(torch.rand_like(x) < 0.3, x, -x),
    "exponential": lambda x: x.clone().exponential_() * 2,
    "noise_in_cat": lambda x: torch.cat([x, torch.randn_like(x)], 1),
    "gumbel": lambda x: F.gumbel_softmax(x, hard=True),
    "two_dropouts": lambda x: F.dropout(F.dropout(x, 0.5).relu(), 0.1).sum(1),
    "attention_dropout": lambda x: F.dropout(x.softmax(-1), 0.1) @ x.t(),
}


@pytest.fixture
def captured(tmp_path):
    def capture(function, *args):
        torch._dynamo.reset()
        torch.manual_seed(3)
        with fuseproof.capture(tmp_path / "run"):
            function(*args)
        return tmp_path / "run"

    return capture


def check_all_match(run):
    results = fuseproof.check(run)
    assert results, "nothing was captured"
    for result in results:
        assert result.verdict == "match", (result.kernel, result.verdict, result.message)
        assert not any("not checked" in note for note in result.details["notes"])
    return results


@pytest.mark.parametrize("name", DRAWS)
def test_a_kernel_that_draws_matches(captured, name):
    with torch.no_grad():
        run = captured(torch.compile(DRAWS[name]), X)
    check_all_match(run)
    for path in run.glob("*/sites/*/fragment.json"):
        targets = [node.get("target") for node in json.loads(path.read_text())["graph"]["nodes"]]
        # The draw of the seeds is a call beside the kernel: its result is an argument.
        assert "prims.inductor_lookup_seed.default" in targets
        assert "prims.inductor_seeds.default" not in targets


# A half-precision dropout compares the draw with its rate before the draw is rounded; eager
# rounds it first. Where a draw lies between, the mask differs.
@pytest.mark.parametrize(
    "dtype, verdict",
    [
        (torch.float32, "match"),
        (torch.float64, "match"),
        (torch.float16, "precision_casts"),
        (torch.bfloat16, "precision_casts"),
    ],
)
def test_dropout_is_checked_and_a_fault_in_its_mask_is_found(captured, dtype, verdict):
    with torch.no_grad():
        run = captured(torch.compile(lambda x: F.dropout(x, 0.25) + 1), seeded(300, 700).to(dtype))
    (result,) = fuseproof.check(run)
    assert result.verdict == verdict, result.message

    source = next(run.glob("*/sites/*/kernel.cpp"))
    text = source.read_text()
    faulty = text.replace("(0.25)", "(0.27)")  # the rate, which every dtype can hold
    assert faulty != text
    source.write_text(faulty)
    (result,) = fuseproof.check(run)
    assert (result.verdict, result.difference) == ("kernel_wrong", "value"), result.message


def test_a_training_step_with_dropout_matches_forwards_and_backwards(captured):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(70, 32),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.2),
        torch.nn.Linear(32, 5),
        torch.nn.Dropout(0.5),
    )
    compiled = torch.compile(model)

    def step():
        compiled(X).square().mean().backward()

    results = check_all_match(captured(step))
    assert any("native_dropout_backward" in result.kernel for result in results)
