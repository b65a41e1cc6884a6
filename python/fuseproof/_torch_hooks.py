"""Every private name of torch that Fuseproof needs, and the hooks into them.

This is the one file that has to change when torch changes: `internals()` resolves the names (and
says which one is missing), `Hooks` wraps some functions and hands what they see to a listener. A
listener's own failure never reaches the program: it is reported, and the compile goes on.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import threading
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from fuseproof._core import UnsupportedError, UsageError

TESTED_TORCH = "2.13"

_NAMES = {
    "compile_fx": "torch._inductor.compile_fx:",
    "TracingContext": "torch._guards:TracingContext",
    "SizeVarAllocator": "torch._inductor.sizevars:SizeVarAllocator",
    "GraphLowering": "torch._inductor.graph:GraphLowering",
    "CppScheduling": "torch._inductor.codegen.cpp:CppScheduling",
    "Scheduler": "torch._inductor.scheduler:Scheduler",
    "OutputNode": "torch._inductor.scheduler:OutputNode",
    "PyCodeCache": "torch._inductor.codecache:PyCodeCache",
    "GuardedCache": "torch._inductor.codecache:GuardedCache",
    "CompiledFxGraph": "torch._inductor.output_code:CompiledFxGraph",
    "AOTAutogradResult": (
        "torch._functorch._aot_autograd.aot_autograd_result:GenericAOTAutogradResult"
    ),
    "BundledAOTAutogradResult": (
        "torch._functorch._aot_autograd.aot_autograd_result:BundledAOTAutogradResult"
    ),
    "cache_dir": "torch._inductor.runtime.cache_dir_utils:cache_dir",
    "functorch_config": "torch._functorch.config:",
    "dynamo_config": "torch._dynamo.config:",
    "inductor_config": "torch._inductor.config:",
    "ir": "torch._inductor.ir:",
    "WeakDep": "torch._inductor.dependencies:WeakDep",
    "MemoryDep": "torch._inductor.dependencies:MemoryDep",
    "V": "torch._inductor.virtualized:V",
    "Placeholder": "torch._inductor.utils:Placeholder",
    "get_cpp_compiler": "torch._inductor.cpp_builder:get_cpp_compiler",
    "BuildOptions": "torch._inductor.cpp_builder:CppTorchDeviceOptions",
    "pick_vec_isa": "torch._inductor.cpu_vec_isa:pick_vec_isa",
}

# The functions that are wrapped: (owner, attribute).
_HOOKED = [
    ("compile_fx", "_compile_fx_main"),
    ("compile_fx", "_recursive_joint_graph_passes"),
    ("GraphLowering", "run_node"),
    ("CppScheduling", "define_kernel"),
    ("Scheduler", "codegen_extern_call"),
    ("PyCodeCache", "load_by_key_path"),
    ("CompiledFxGraph", "__init__"),
    ("CompiledFxGraph", "after_deserialization"),
    ("GuardedCache", "find_guarded_entry"),
    ("GuardedCache", "iterate_over_candidates"),
    ("AOTAutogradResult", "_load_and_post_compile"),
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
    "higher_order": ("torch._higher_order_ops",),
    "torch_attn": ("torch.nn.attention.varlen",),
}


def register_operators(namespace: str) -> None:
    """Makes torch.ops.<namespace> complete where torch itself registers it from Python."""
    for module in _OPERATOR_MODULES.get(namespace, ()):
        importlib.import_module(module)


class Listener(Protocol):
    """What hooks report. `graph` is a GraphLowering, `compiled` a CompiledFxGraph."""

    def compile_begun(self, module: object) -> None: ...

    def graph_traced(self, module: torch.fx.GraphModule) -> None: ...

    def compile_ended(self) -> None: ...

    def node_lowered(self, graph: Any, node: torch.fx.Node, value: object) -> None: ...

    def kernel_defined(
        self, graph: Any, name: str, source: str, scheduler_nodes: list[Any], kernel_args: Any
    ) -> None: ...

    def external_called(self, graph: Any, scheduler_node: Any) -> None: ...

    def module_loading(self, graph: Any | None, path: str) -> None: ...

    def module_loaded(self, graph: Any | None, module: Any) -> None: ...

    def module_failed(self, graph: Any | None, error: Exception) -> None: ...

    def graph_compiled(self, graph: Any, compiled: Any, was_withheld: bool) -> None: ...

    def knows(self, compiled: Any) -> bool: ...

    def cached_module_loaded(self, compiled: Any, module: Any) -> None: ...

    def cached_graphs_loading(self) -> None: ...

    def cached_graphs_loaded(self) -> None: ...

    def cached_graphs_dropped(self) -> None: ...

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


class _Lookup(threading.local):
    """A thread's look-up in torch's caches of compiled graphs."""

    fits: Callable[[str], bool] | None = None  # whether an entry's guards hold
    withheld = False  # an entry would have been taken, but a capture knows nothing of it
    loading: Any = None  # the CompiledFxGraph whose module is being loaded


class _Passes(threading.local):
    running = False  # Inductor's joint passes; they call themselves for sub-graphs


class Hooks:
    """Wraps torch's functions from install() to remove(). At most one is installed in a process."""

    def __init__(self) -> None:
        self._listener: Listener | None = None
        self._patches: list[_Patch] = []
        self._lookup = _Lookup()
        self._passes = _Passes()

    def listen(self, listener: Listener) -> None:
        """From now on what happens is reported; until then the wrappers only pass through."""
        self._listener = listener

    def install(self) -> None:
        """Raises UnsupportedError (torch lacks a hook) or UsageError (another capture runs)."""
        names = internals()
        if not _installed.acquire(blocking=False):
            raise UsageError("another capture is running in this process; end it first")
        for owner, attribute in _HOOKED:
            wrapper = getattr(self, f"_wrap_{attribute.strip('_')}")
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

    def _wrap_compile_fx_main(self, original: Any) -> Any:
        def _compile_fx_main(module: Any, *args: Any, **kwargs: Any) -> object:
            self._tell("compile_begun", module)
            try:
                return original(module, *args, **kwargs)
            finally:
                self._tell("compile_ended")

        return _compile_fx_main

    def _wrap_recursive_joint_graph_passes(self, original: Any) -> Any:
        def _recursive_joint_graph_passes(module: Any, *args: Any, **kwargs: Any) -> object:
            if self._passes.running:
                return original(module, *args, **kwargs)
            self._tell("graph_traced", module)
            self._passes.running = True
            try:
                return original(module, *args, **kwargs)
            finally:
                self._passes.running = False

        return _recursive_joint_graph_passes

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
            if self._lookup.loading is not None:
                module = original(cls, key, path, *args, **kwargs)
                self._tell("cached_module_loaded", self._lookup.loading, module)
                return module
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

    def _wrap_init(self, original: Any) -> Any:
        def __init__(
            compiled: Any, current_callable: Any, graph: Any, *args: Any, **kwargs: Any
        ) -> None:
            original(compiled, current_callable, graph, *args, **kwargs)
            self._tell("graph_compiled", graph, compiled, self._lookup.withheld)
            if not internals().functorch_config.bundled_autograd_cache:
                self._lookup.withheld = False  # what was said of one graph alone

        return __init__

    # Torch keeps compiled graphs in two caches. AOTAutograd's holds the names of entries of the FX
    # graph cache, or the graphs themselves (`bundled_autograd_cache`). A hit skips code generation.
    # An entry is left in place but passed over when the listener does not know its graph, so that
    # torch compiles that graph as on any other miss, and stores it again.

    def _wrap_find_guarded_entry(self, original: Any) -> Any:
        parameters = inspect.signature(original)

        def find_guarded_entry(*args: Any, **kwargs: Any) -> Any:
            given = parameters.bind(*args, **kwargs).arguments
            evaluate, hints = given["evaluate_guards"], given["hints"]
            lookup = self._lookup
            lookup.withheld = False
            lookup.fits = lambda guards: bool(evaluate(guards, hints))
            try:
                return original(*args, **kwargs)
            finally:
                lookup.fits = None

        return find_guarded_entry

    def _wrap_iterate_over_candidates(self, original: Any) -> Any:
        def iterate_over_candidates(cls: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
            for found in original(cls, *args, **kwargs):
                if self._may_serve(found[0]):
                    yield found

        return iterate_over_candidates

    def _may_serve(self, entry: Any) -> bool:
        names = internals()
        if names.functorch_config.strict_autograd_cache or names.dynamo_config.strict_precompile:
            return True  # a miss would be an error of the program
        if all(self._knows(compiled) for compiled in _graphs_of(entry)):
            return True
        fits = self._lookup.fits
        if not entry.guards_expr or fits is None or fits(entry.guards_expr):
            self._lookup.withheld = True
        return False

    def _knows(self, compiled: Any) -> bool:
        listener = self._listener
        if listener is None:
            return True
        try:
            return listener.knows(compiled)
        except Exception:
            listener.problem("knows", traceback.format_exc())
            return True

    def _wrap_after_deserialization(self, original: Any) -> Any:
        def after_deserialization(compiled: Any, constants: Any) -> Any:
            self._lookup.loading = compiled
            try:
                return original(compiled, constants)
            finally:
                self._lookup.loading = None

        return after_deserialization

    # The graphs of one entry are served together or not at all: when the backward graph is not
    # there, the forward graph that has been loaded is dropped.

    def _wrap_load_and_post_compile(self, original: Any) -> Any:
        def _load_and_post_compile(entry: Any, *args: Any, **kwargs: Any) -> Any:
            self._tell("cached_graphs_loading")
            try:
                result = original(entry, *args, **kwargs)
            except BaseException:
                self._tell("cached_graphs_dropped")
                raise
            self._tell("cached_graphs_loaded")
            return result

        return _load_and_post_compile


def _graphs_of(entry: Any) -> list[Any]:
    """The compiled graphs that an entry of one of the caches holds itself."""
    names = internals()
    if isinstance(entry, names.BundledAOTAutogradResult):
        parts = [part.result for part in (entry.compiled_fw, entry.compiled_bw) if part is not None]
    else:
        parts = [entry]
    return [part for part in parts if isinstance(part, names.CompiledFxGraph)]


def compiled_identity(compiled: Any) -> tuple[str, str]:
    """Of a CompiledFxGraph: the hash of its generated module's source, and the text of the graph
    that was lowered. Neither changes when it is stored and loaded."""
    return str(compiled.cache_key), str(compiled.inductor_post_grad_graph_str)
