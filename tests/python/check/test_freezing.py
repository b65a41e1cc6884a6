"""Frozen models: weights that a library has packed, and library calls that leave the bias to a
kernel."""

from __future__ import annotations

import json

import fuseproof
import pytest
import torch
import torch._inductor.config
from torch import nn

pytestmark = pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="packs with MKL")
TEMPLATES = {"max_autotune": True, "max_autotune_gemm_backends": "CPP"}


class Frozen(nn.Module):
    """A linear layer behind a convolution, whose output has another layout."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 3, bias=False)
        self.linear = nn.Linear(8 * 36, 16)

    def forward(self, x):
        return self.linear(self.convolution(x).relu().flatten(1))


def captured(folder, module, x, **options):
    torch._dynamo.reset()
    with (
        torch.no_grad(),
        torch._inductor.config.patch(freezing=True, compile_threads=1, **options),
        fuseproof.capture(folder),
    ):
        torch.compile(module.eval())(x)
    assert json.loads((folder / "run.json").read_text())["problems"] == []
    return folder


@pytest.fixture
def template(tmp_path):
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(64, 48), nn.ReLU())
    return captured(tmp_path / "run", layers, torch.randn(32, 64), **TEMPLATES)


def test_a_product_with_a_packed_weight_is_checked_against_the_plain_one(template):
    (result,) = fuseproof.check(template)
    assert result.verdict == "match", result.message
    (path,) = template.glob("*/sites/*/fragment.json")
    nodes = json.loads(path.read_text())["graph"]["nodes"]
    targets = [node["target"] for node in nodes if node["kind"] == "call"]
    assert targets == ["aten.linear.default", "aten.relu.default"]


def test_a_fault_in_it_is_found(template):
    (source,) = template.glob("*/sites/*/kernel.cpp")
    text = source.read_text()
    wrong = text.replace("clamp_min(tmp2, decltype(tmp2)(0))", "clamp_min(tmp2, decltype(tmp2)(1))")
    assert wrong != text
    source.write_text(wrong)
    (result,) = fuseproof.check(template)
    assert result.verdict == "kernel_wrong"


def test_what_a_call_reads_is_checked_though_it_leaves_its_bias_to_a_kernel(tmp_path):
    torch.manual_seed(0)
    run = captured(tmp_path / "run", Frozen(), torch.randn(2, 3, 8, 8))
    nodes = {
        output.get("node"): result.verdict
        for result in fuseproof.check(run)
        for output in result.details["outputs"]
    }
    assert nodes["view"] == "match"


@pytest.mark.skipif(not torch.cpu._is_amx_tile_supported(), reason="no AMX")
def test_a_kernel_that_uses_amx_tiles_runs(tmp_path):
    layers = nn.Sequential(nn.Linear(64, 48), nn.ReLU()).bfloat16()
    run = captured(tmp_path / "run", layers, torch.randn(32, 64).bfloat16(), **TEMPLATES)
    (source,) = run.glob("*/sites/*/kernel.cpp")
    assert "amx" in source.read_text()
    (result,) = fuseproof.check(run)
    assert result.verdict != "crashed", result.message
