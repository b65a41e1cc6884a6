"""Every private name of torch that Fuseproof needs, and the hooks into them.

This is the one file that has to change when torch changes: `internals()` resolves the names (and
says which one is missing), `Hooks` wraps six functions and hands what they see to a listener. A
listener's own failure never reaches the program: it is reported, and the compile goes on.
"""

from __future__ import annotations

import functools
import importlib
import threading
import traceback
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from fuseproof._core import UnsupportedError, UsageError

TESTED_TORCH = "2.13"

_NAMES = {
    "GraphLowering": "torch._inductor.graph:GraphLowering",
    "CppScheduling": "torch._inductor.codegen.cpp:CppScheduling",
    "Scheduler": "torch._inductor.scheduler:Scheduler",
    "OutputNode": "torch._inductor.scheduler:OutputNode",
    "PyCodeCache": "torch._inductor.codecache:PyCodeCache",
    "FxGraphCache": "torch._inductor.codecache:FxGraphCache",
    "BypassFxGraphCache": "torch._inductor.codecache:BypassFxGraphCache",
    "BypassAOTAutogradCache": (
        "torch._functorch._aot_autograd.autograd_cache:BypassAOTAutogradCache"
    ),
    "autograd_cache": "torch._functorch._aot_autograd.autograd_cache:",
    "functorch_config": "torch._functorch.config:",
    "dynamo_config": "torch._dynamo.config:",
    "inductor_config": "torch._inductor.config:",
    "ir": "torch._inductor.ir:",
    "WeakDep": "torch._inductor.dependencies:WeakDep",
    "MemoryDep": "torch._inductor.dependencies:MemoryDep",
    "V": "torch._inductor.virtualized:V",
    "Placeholder": "torch._inductor.utils:Placeholder",
    "BuildOptions": "torch._inductor.cpp_builder:CppTorchDeviceOptions",
    "pick_vec_isa": "torch._inductor.cpu_vec_isa:pick_vec_isa",
}

# The functions that are wrapped: (owner, attribute).
_HOOKED = [
    ("GraphLowering", "run_node"),
    ("CppScheduling", "define_kernel"),
    ("Scheduler", "codegen_extern_call"),
    ("PyCodeCache", "load_by_key_path"),
    ("FxGraphCache", "_check_can_cache"),
    ("autograd_cache", "check_cacheable"),
]


@functools.cache
def internals() -> Any:
    """The private names, as attributes. Raises UnsupportedError that names what is missing."""
    found: dict[str, Any] = {}
    missing = []
    for name, where in _NAMES.items():
        module, _, attribute = where.partition(":")
        try:
            found[name] = importlib.import_module(module)
            if attribute:
                found[name] = getattr(found[name], attribute)
        except (ImportError, AttributeError):
            missing.append(where.replace(":", "."))
    missing += [
        f"{_NAMES[owner].replace(':', '.')}.{attribute}"
        for owner, attribute in _HOOKED
        if owner in found and not hasattr(found[owner], attribute)
    ]
    if missing:
        raise UnsupportedError(
            f"torch {torch.__version__} does not have {', '.join(missing)}, which capture needs. "
            f"This Fuseproof was tested with torch {TESTED_TORCH}; install that, or a Fuseproof "
            "for this torch."
        )
    return types.SimpleNamespace(**found)


# Modules of torch that register operators from Python, by the operators' namespace.
_OPERATOR_MODULES = {
    "prims": ("torch._prims", "torch._inductor.inductor_prims"),
    "rngprims": ("torch._prims.rng_prims",),
    "quantized_decomposed": ("torch.ao.quantization.fx._decomposed",),
    "torch_attn": ("torch.nn.attention.varlen",),
}


def register_operators(namespace: str) -> None:
    """Makes torch.ops.<namespace> complete where torch itself registers it from Python."""
    for module in _OPERATOR_MODULES.get(namespace, ()):
        importlib.import_module(module)


class Listener(Protocol):
    """What hooks report. `graph` is a GraphLowering."""

    def node_lowered(self, graph: Any, node: torch.fx.Node, value: object) -> None: ...

    def kernel_defined(
        self, graph: Any, name: str, source: str, scheduler_nodes: list[Any], kernel_args: Any
    ) -> None: ...

    def external_called(self, graph: Any, scheduler_node: Any) -> None: ...

    def module_loading(self, graph: Any | None, path: str) -> None: ...

    def module_loaded(self, graph: Any | None, module: Any) -> None: ...

    def module_failed(self, graph: Any | None, error: Exception) -> None: ...

    def problem(self, where: str, text: str) -> None: ...


@dataclass
class _Patch:
    owner: Any
    attribute: str
    original: (
        object  # as it stands in the owner's __dict__: a function, classmethod or staticmethod
    )
    replacement: object


_installed = threading.Lock()


class Hooks:
    """Wraps torch's functions from install() to remove(). At most one is installed in a process."""

    def __init__(self) -> None:
        self._listener: Listener | None = None
        self._patches: list[_Patch] = []

    def listen(self, listener: Listener) -> None:
        """From now on what happens is reported; until then the wrappers only pass through."""
        self._listener = listener

    def install(self) -> None:
        """Raises UnsupportedError (torch lacks a hook) or UsageError (another capture runs)."""
        names = internals()
        if not _installed.acquire(blocking=False):
            raise UsageError("another capture is running in this process; end it first")
        for owner, attribute in _HOOKED:
            wrapper = getattr(self, f"_wrap_{attribute.lstrip('_')}")
            self._patch(getattr(names, owner), attribute, wrapper)

    def remove(self) -> None:
        """Puts back what was there. A function that someone else has wrapped since stays wrapped,
        and from then on only passes through."""
        self._listener = None
        for patch in reversed(self._patches):
            if vars(patch.owner)[patch.attribute] is patch.replacement:
                setattr(patch.owner, patch.attribute, patch.original)
        if self._patches:
            self._patches.clear()
            _installed.release()

    def mute(self) -> None:
        """From now on the wrappers only pass through (in a forked child)."""
        self._listener = None

    def _patch(self, owner: Any, attribute: str, wrap: Callable[[Any], Any]) -> None:
        original = vars(owner)[attribute]
        function = getattr(original, "__func__", original)
        wrapped: object = functools.wraps(function)(wrap(function))
        if isinstance(original, (classmethod, staticmethod)):
            wrapped = type(original)(wrapped)  # type: ignore[arg-type]
        self._patches.append(_Patch(owner, attribute, original, wrapped))
        setattr(owner, attribute, wrapped)

    def _tell(self, event: str, *values: object) -> None:
        listener = self._listener
        if listener is None:
            return
        try:
            getattr(listener, event)(*values)
        except Exception:  # the program's compile must not fail because of us
            listener.problem(event, traceback.format_exc())

    def _graph(self) -> Any | None:
        graph = internals().V.graph
        return graph if isinstance(graph, internals().GraphLowering) else None

    def _wrap_run_node(self, original: Any) -> Any:
        def run_node(graph: Any, node: torch.fx.Node) -> object:
            value = original(graph, node)
            self._tell("node_lowered", graph, node, value)
            return value

        return run_node

    def _wrap_define_kernel(self, original: Any) -> Any:
        def define_kernel(
            scheduling: Any, src_code: str, nodes: Any, kernel_args: Any = None
        ) -> str:
            name: str = original(scheduling, src_code, nodes, kernel_args)
            args = scheduling.kernel_group.args if kernel_args is None else kernel_args
            self._tell("kernel_defined", self._graph(), name, src_code, list(nodes), args)
            return name

        return define_kernel

    def _wrap_codegen_extern_call(self, original: Any) -> Any:
        def codegen_extern_call(scheduler: Any, scheduler_node: Any) -> object:
            result = original(scheduler, scheduler_node)
            self._tell("external_called", self._graph(), scheduler_node)
            return result

        return codegen_extern_call

    def _wrap_load_by_key_path(self, original: Any) -> Any:
        def load_by_key_path(cls: Any, key: str, path: str, *args: Any, **kwargs: Any) -> Any:
            graph = self._graph()
            self._tell("module_loading", graph, path)
            try:
                module = original(cls, key, path, *args, **kwargs)
            except Exception as error:
                self._tell("module_failed", graph, error)
                raise
            self._tell("module_loaded", graph, module)
            return module

        return load_by_key_path

    # The two caches of compiled graphs are bypassed the way that torch itself bypasses them for a
    # graph that it cannot cache; switching them off in the configuration would hold for one thread
    # only. What is compiled stays the same, and Inductor's cache of built kernels stays in use.

    def _wrap_check_can_cache(self, original: Any) -> Any:
        def _check_can_cache(*args: Any, **kwargs: Any) -> object:
            if self._listener is not None:
                raise internals().BypassFxGraphCache("Fuseproof captures this graph")
            return original(*args, **kwargs)

        return _check_can_cache

    def _wrap_check_cacheable(self, original: Any) -> Any:
        def check_cacheable(*args: Any, **kwargs: Any) -> object:
            names = internals()
            is_strict = (
                names.functorch_config.strict_autograd_cache
                or names.dynamo_config.strict_precompile
            )
            if self._listener is not None and not is_strict:
                raise names.BypassAOTAutogradCache("Fuseproof captures this graph")
            return original(*args, **kwargs)

        return check_cacheable
