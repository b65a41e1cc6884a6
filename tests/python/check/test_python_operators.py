"""Fragments with operators that torch registers from Python alone."""

from __future__ import annotations

import fuseproof
import torch
from torch.ao.quantization.fx import _decomposed

quantized = torch.ops.quantized_decomposed


SCHEME = (0.07, 3, -128, 127, torch.int8)


def fake_quantized(x):
    whole = quantized.quantize_per_tensor(x, *SCHEME)
    # With `out_dtype` the operator has a float64 form.
    return quantized.dequantize_per_tensor(whole, *SCHEME, out_dtype=torch.float32) + 1


def test_they_run_in_python_and_the_result_says_so(tmp_path):
    assert _decomposed.quantized_decomposed_lib.ns == "quantized_decomposed"
    torch._dynamo.reset()
    with torch.no_grad(), fuseproof.capture(tmp_path / "run"):
        torch.compile(fake_quantized)(torch.randn(16, 33))
    (result,) = fuseproof.check(tmp_path / "run")
    assert result.verdict == "match", result.message
    targets = {node["target"] for node in result.details["python_nodes"]}
    assert targets == {
        "quantized_decomposed.quantize_per_tensor.default",
        "quantized_decomposed.dequantize_per_tensor.default",
    }
    (note,) = [note for note in result.details["notes"] if "in Python" in note]
    assert note.startswith("the reference ran 2 of 3 nodes in Python: quantized_decomposed.")
