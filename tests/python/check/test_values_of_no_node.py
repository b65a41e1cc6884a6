"""Outputs of kernels that no node of the FX graph stands for: what the lowering cast for a library
call, the sum of a mean whose division another kernel does; and those that are copied into memory of
open content. They are checked, and faults are found."""

from __future__ import annotations

import fuseproof
import pytest
import torch
import torch.nn.functional as F


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def mean_beside_a_scan(x):
    return x.mean(), x.sum(-1), x.cumsum(-1).softmax(-1)


MASKS = (seeded(5, 7) > -0.5, seeded(5, 7) < 0.5)
# The function and its arguments; of a fault: its kernel, what is replaced by what, the output that
# is wrong then.
PROGRAMS = {
    "cumsum_of_bools": (
        lambda a, b: (a & b, (a ^ b).cumsum(0)),
        MASKS,
        ("000", "tmp2 ^ tmp3", "tmp2 | tmp3", "out_ptr1"),
    ),
    "cumsum_of_an_input": (
        lambda a, x: (a.cumsum(0), x + 1),
        (MASKS[0], seeded(5, 7)),
        ("000", "in_ptr0 + static_cast<int64_t>(x0)", "in_ptr0", "out_ptr0"),
    ),
    "sum_of_a_mean": (
        mean_beside_a_scan,
        (seeded(1, 1, 5000),),
        ("000", "out_ptr0[static_cast<int64_t>(0L)] = ", "out_ptr0[0] = 0.5f * ", "out_ptr0"),
    ),
    "division_of_a_mean": (
        mean_beside_a_scan,
        (seeded(1, 1, 5000),),
        ("001", "(5000.0)", "(4990.0)", "in_out_ptr1"),
    ),
    "circular_padding": (
        lambda x: F.pad(x, (1, 1), "circular"),
        (seeded(2, 6, 8),),
        ("000", "(-1L) + x1", "x1", "out_ptr0"),
    ),
    "half_mean": (
        lambda x: (x.mean(), x.cumsum(-1).softmax(-1)),
        (seeded(1, 1, 5000).bfloat16(),),
        ("000", "(5000.0)", "(4000.0)", "out_ptr1"),
    ),
}


@pytest.fixture
def run(request, tmp_path):
    function, arguments, _ = PROGRAMS[request.param]
    torch._dynamo.reset()
    with torch.no_grad(), fuseproof.capture(tmp_path / "run"):
        torch.compile(function)(*arguments)
    return tmp_path / "run"


@pytest.mark.parametrize("run", PROGRAMS, indirect=True)
def test_each_output_is_checked_and_matches(run):
    for result in fuseproof.check(run):
        assert result.verdict == "match", result.message
        assert {output["source"] for output in result.details["outputs"]} == {"fx"}


@pytest.mark.parametrize(("run", "name"), [(name, name) for name in PROGRAMS], indirect=["run"])
def test_a_fault_is_found_where_it_is(run, name):
    kernel, right, wrong, output = PROGRAMS[name][2]
    (source,) = run.glob(f"*/sites/{kernel}_*/kernel.cpp")
    text = source.read_text()
    assert right in text
    source.write_text(text.replace(right, wrong))
    results = {result.site.split("/")[-1][:3]: result for result in fuseproof.check(run)}
    assert results[kernel].verdict == "kernel_wrong"
    assert results[kernel].output == output
    assert all(r.verdict == "match" for site, r in results.items() if site != kernel)
