"""Capturing changes nothing about what is compiled, and leaves nothing behind."""

import re

import fuseproof
import programs
import pytest
import torch
from torch._functorch._aot_autograd.aot_autograd_result import GenericAOTAutogradResult
from torch._inductor.codecache import GuardedCache, PyCodeCache
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.graph import GraphLowering
from torch._inductor.output_code import CompiledFxGraph
from torch._inductor.scheduler import Scheduler
from torch._inductor.utils import fresh_cache

HOOKED = [
    (GraphLowering, "run_node"),
    (CppScheduling, "define_kernel"),
    (Scheduler, "codegen_extern_call"),
    (PyCodeCache, "load_by_key_path"),
    (CompiledFxGraph, "__init__"),
    (CompiledFxGraph, "after_deserialization"),
    (GuardedCache, "find_guarded_entry"),
    (GuardedCache, "iterate_over_candidates"),
    (GenericAOTAutogradResult, "_load_and_post_compile"),
]


def hooked():
    return [vars(owner)[name] for owner, name in HOOKED]


def generated_code(function, args, monkeypatch):
    """The source of every module that Inductor generates for one call."""
    sources = []
    monkeypatch.setattr(GraphLowering, "save_output_code", sources.append)
    torch._dynamo.reset()
    torch.compile(function)(*args)
    # The running number of the compilation in this process.
    return [re.sub(r"# AOT ID: \['\d+", "# AOT ID: ['", source) for source in sources]


@pytest.mark.parametrize("name", ["gpt", "mutation", "cat_and_pad", "attention", "dropout"])
def test_the_generated_code_is_the_same_with_and_without(name, tmp_path, monkeypatch):
    function, args = programs.PROGRAMS[name]()
    with torch.no_grad():
        with fuseproof.capture(tmp_path / "run"):
            inside = generated_code(function, args, monkeypatch)
        # Whatever caches there are by default are on, and must not be the captured graph's.
        with fresh_cache():
            outside = generated_code(function, args, monkeypatch)
    assert len(inside) == 1
    assert inside == outside


def test_recorded_sources_are_what_the_module_holds(tmp_path, monkeypatch):
    function, args = programs.PROGRAMS["equal_sources"]()
    with torch.no_grad(), fuseproof.capture(tmp_path / "run"):
        (module,) = generated_code(function, args, monkeypatch)
    for path in (tmp_path / "run").glob("*/sites/*/kernel.cpp"):
        assert f"r'''\n{path.read_text()}'''" in module


def test_a_captured_graph_that_was_in_the_cache_is_compiled_again(tmp_path, run_captured):
    x = torch.randn(37)
    torch.compile(lambda x: x.sin() * 3 + 1)(x)
    torch._dynamo.reset()
    captured = run_captured(lambda x: x.sin() * 3 + 1, x)
    assert len(captured.sites) == 1 and captured.info["counts"]["calls"] == 1


def test_afterwards_torch_is_as_it_was(tmp_path):
    before = hooked()
    with fuseproof.capture(tmp_path / "run"):
        assert all(now is not then for now, then in zip(hooked(), before, strict=True))
        torch.compile(lambda x: x.sin() + 1)(torch.randn(8))
    assert all(now is then for now, then in zip(hooked(), before, strict=True))


def test_recorded_kernels_are_called_directly_again(tmp_path):
    compiled = torch.compile(lambda x: x.cos() - 1)
    modules_before = len(PyCodeCache.modules)
    with fuseproof.capture(tmp_path / "run", calls=2):
        compiled(torch.randn(8))
        (module,) = PyCodeCache.modules[modules_before:]
        (name,) = (name for name in vars(module) if name.startswith("cpp_fused"))
        assert "Proxy" in type(vars(module)[name]).__name__
        compiled(torch.randn(8))
        assert type(vars(module)[name]).__name__ == "builtin_function_or_method"


def test_kernels_that_were_never_called_are_put_back_at_the_end(tmp_path):
    modules_before = len(PyCodeCache.modules)
    with fuseproof.capture(tmp_path / "run", calls=5):
        torch.compile(lambda x: x.cos() - 2)(torch.randn(8))
    (module,) = PyCodeCache.modules[modules_before:]
    kernels = [value for name, value in vars(module).items() if name.startswith("cpp_fused")]
    assert kernels and all(type(k).__name__ == "builtin_function_or_method" for k in kernels)


def test_the_results_of_the_program_are_the_same(tmp_path):
    function, args = programs.PROGRAMS["resnet"]()
    with torch.no_grad():
        with fuseproof.capture(tmp_path / "run"):
            inside = torch.compile(function)(*args)
        torch._dynamo.reset()
        outside = torch.compile(function)(*args)
    assert torch.equal(inside, outside)
