"""fuseproof.check: the results of a check, in Python."""

from __future__ import annotations

import json

import fuseproof
import pytest
import torch


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check") / "run"
    torch._dynamo.reset()
    with torch.no_grad(), fuseproof.capture(folder):
        torch.compile(lambda x, y: torch.sigmoid(x + y) * 2)(torch.randn(8, 16), torch.randn(16))
    return folder


def test_a_healthy_kernel_matches(run):
    (result,) = fuseproof.check(run)
    assert result.verdict == "match"
    assert result.stage == "none"
    assert not result.is_finding
    assert result.kernel.startswith("cpp_fused_")
    assert "torch.sigmoid(x + y) * 2" in result.user_line
    assert result.details["outputs"][0]["source"] == "fx"


def test_an_edited_kernel_is_a_finding_with_output_and_tolerance(run):
    source = next(run.glob("*/sites/*/kernel.cpp"))
    original = source.read_text()
    source.write_text(original.replace("tmp0 + tmp1", "tmp0 - tmp1"))
    try:
        (result,) = fuseproof.check(run, jobs=2)
    finally:
        source.write_text(original)
    assert result.is_finding
    assert (result.verdict, result.stage, result.difference) == ("kernel_wrong", "kernel", "value")
    assert result.output == "out_ptr0"
    assert result.minimum_tolerance["atol"] > 0


def test_a_finding_of_the_baseline_is_known(run, tmp_path):
    source = next(run.glob("*/sites/*/kernel.cpp"))
    original = source.read_text()
    source.write_text(original.replace("tmp0 + tmp1", "tmp0 - tmp1"))
    baseline = tmp_path / "baseline.json"
    try:
        (before,) = fuseproof.check(run)
        baseline.write_text(json.dumps({"results": [before.details]}))
        (after,) = fuseproof.check(run, baseline=baseline)
    finally:
        source.write_text(original)
    assert not before.known
    assert after.known and after.is_finding


def test_cann_criteria_give_their_line(run):
    (result,) = fuseproof.check(run, criteria="cann")
    assert "precision PASSED" in result.details["outputs"][0]["cann"]


def test_wrong_arguments_are_usage_errors(run, tmp_path):
    with pytest.raises(fuseproof.UsageError, match="lenient"):
        fuseproof.check(run, criteria="lenient")
    with pytest.raises(fuseproof.UsageError, match="jobs=-1"):
        fuseproof.check(run, jobs=-1)
    with pytest.raises(fuseproof.UsageError, match="no kernel"):
        fuseproof.check(run, kernel="convolution")
    with pytest.raises(fuseproof.BadInputError, match="no run"):
        fuseproof.check(tmp_path)


def test_every_error_of_the_core_is_a_fuseproof_error():
    for name in (
        "UsageError",
        "BadInputError",
        "UnsupportedError",
        "FileAccessError",
        "InternalError",
    ):
        assert issubclass(getattr(fuseproof, name), fuseproof.Error)
