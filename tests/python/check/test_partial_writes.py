"""In-place writes through views: into a part of a value, along its diagonal, through strides of its
own. The lowering describes such views by index expressions alone."""

from __future__ import annotations

import fuseproof
import pytest
import torch


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def add_to_diagonal(x):
    y = x.sin()
    y.view(6, 6).diagonal().add_(1)
    return y.flip(0)


def clear_diagonal(x):
    y = x.sin()
    y.view(6, 6).diagonal().zero_()
    return y.flip(0)


def clear_rows(x):
    y = x.sin()
    y.view(6, 6)[1:3].zero_()
    return y.flip(0)


def clear_every_seventh(x):
    y = x.sin()
    y[::7].zero_()
    return y.flip(0)


def scale_a_column(x):
    y = x.sin()
    y.view(6, 6).t()[0].mul_(y[3])
    return y.flip(0), y.sum()


def scale_through_strides(x):
    y = x.sin()
    y.as_strided((6,), (7,)).mul_(2)
    return y.flip(0)


def scale_diagonal_of_input(x):
    x.view(6, 6).diagonal().mul_(2.0)
    return x.flip(0)


def clear_diagonal_behind_a_view(x):
    x = x.view(6, 6).clone()
    y = x.view(-1)
    x.diagonal().zero_()
    return y.flip(0)


def shifted_diagonal(x):
    x = x.view(6, 6).sin()
    x.diagonal(1).add_(1)
    return x.flip(0)


def two_diagonals(x):
    y = x.view(6, 6).sin()
    y.diagonal().add_(1)
    y.diagonal(2).mul_(3)
    return y.flip(0) * 2


def regularized_covariance(x):
    x = x.view(9, 4)
    c = x.T @ x / 9
    c.diagonal().add_(1e-3)
    return c * 2


def nearest_other(x):
    distances = torch.cdist(x.view(12, 3), x.view(12, 3))
    distances.fill_diagonal_(torch.inf)
    return distances.min(-1)


def without_self_similarity(x):
    x = x.view(12, 3)
    similarity = x @ x.T
    similarity.diagonal().fill_(-1e9)
    return similarity.softmax(-1)


FUNCTIONS = [
    add_to_diagonal,
    clear_diagonal,
    clear_rows,
    clear_every_seventh,
    scale_a_column,
    scale_through_strides,
    scale_diagonal_of_input,
    clear_diagonal_behind_a_view,
    shifted_diagonal,
    two_diagonals,
    regularized_covariance,
    nearest_other,
    without_self_similarity,
]


def checked(function, run):
    torch._dynamo.reset()
    with fuseproof.capture(run):
        torch.compile(function)(seeded(36))
    return fuseproof.check(run)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_healthy_kernel_matches_in_all_of_its_outputs(function, tmp_path):
    results = checked(function, tmp_path / "run")
    assert results, "nothing was captured"
    for result in results:
        assert result.verdict == "match", result.message
        counts = result.details["live_outputs"], result.details["live_outputs_checked"]
        assert counts[0] == counts[1], result.details["notes"]


@pytest.mark.parametrize(
    ("function", "healthy", "faulty"),
    [
        (add_to_diagonal, "(1.0)", "(1.5)"),
        (scale_through_strides, "(2.0)", "(2.5)"),
        (two_diagonals, "(3.0)", "(2.0)"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_wrong_write_is_found(function, healthy, faulty, tmp_path):
    checked(function, tmp_path / "run")
    changed = 0
    for source in (tmp_path / "run").glob("*/sites/*/kernel.cpp"):
        text = source.read_text()
        changed += healthy in text
        source.write_text(text.replace(healthy, faulty))
    assert changed
    verdicts = {result.verdict for result in fuseproof.check(tmp_path / "run")}
    assert "kernel_wrong" in verdicts
