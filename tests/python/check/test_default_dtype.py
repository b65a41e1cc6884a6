"""Fragments run under the default dtype that the program had."""

import json

import fuseproof
import pytest
import torch


@pytest.fixture
def float64_by_default():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def test_integers_divided_under_another_default_dtype(tmp_path, float64_by_default):
    run = tmp_path / "run"
    with torch.no_grad(), fuseproof.capture(run):
        torch.compile(lambda n: n / 3 + 1)(torch.arange(40))
    (record,) = run.glob("*/sites/*/calls/0.json")
    call = json.loads(record.read_text())
    assert call["default_dtype"] == "float64"
    assert [result.verdict for result in fuseproof.check(run)] == ["match"]
    # As records of before were read: the fragment gives float32 where the kernel wrote float64.
    del call["default_dtype"]
    record.write_text(json.dumps(call))
    assert [result.verdict for result in fuseproof.check(run)] == ["kernel_wrong"]
