"""Records the calls of kernels through proxies in the globals of a generated module, until each
call site has the calls that were asked for; then the kernels themselves are put back."""

from __future__ import annotations

import functools
import json
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from fuseproof import _core
from fuseproof._lowering import dtype_name, tensor_layout
from fuseproof._sizes import SymbolPlace, symbol_values

Json = dict[str, Any]


@dataclass
class Site:
    """A call site of a kernel."""

    name: str  # "003_cpp_fused_add_0"
    kernel: str
    spec: Json
    fragment: Json
    source: str
    # Values of the graph's constants that the fragment needs and that are no arguments.
    constants: list[torch.Tensor] = field(default_factory=list)
    # Where its arguments show the graph's symbols; none when all of its sizes are fixed.
    symbol_places: list[SymbolPlace] = field(default_factory=list)
    recorded: int = 0
    recorded_sizes: set[tuple[Any, ...]] = field(default_factory=set)

    def wants(self, args: tuple[Any, ...], calls: int) -> bool:
        """Whether a call is to be recorded. One whose symbolic sizes are on record already would
        show little that is new, and may keep a later one out."""
        if self.recorded >= calls:
            return False
        return not self.symbol_places or _sizes_of(args) not in self.recorded_sizes

    def note(self, args: tuple[Any, ...]) -> None:
        """A call was recorded."""
        self.recorded += 1
        if self.symbol_places:
            self.recorded_sizes.add(_sizes_of(args))


def _sizes_of(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(tuple(arg.shape) if isinstance(arg, torch.Tensor) else arg for arg in args)


class _Storages:
    """The storages of one call, each once."""

    def __init__(self) -> None:
        self.entries: list[Json] = []
        self.needed: dict[int, Any] = {}  # those that hold inputs
        self._index_of: dict[object, int] = {}

    def add(self, storage: Any, role: str) -> int:
        # Two storage objects may lie over the same memory; an empty one has no address.
        address = storage.data_ptr()
        key = address or ("empty", len(self.entries))
        index = self._index_of.setdefault(key, len(self.entries))
        if index == len(self.entries):
            self.entries.append(
                {"size_bytes": 0, "address_mod_64": address % 64, "omitted": "output"}
            )
        size_bytes = storage.nbytes()
        if size_bytes >= self.entries[index]["size_bytes"]:
            self.entries[index]["size_bytes"] = size_bytes
            if index in self.needed:
                self.needed[index] = storage
        if role != "out":
            self.needed.setdefault(index, storage)
        return index


def _number(value: Any) -> Json:
    """A scalar argument; JSON itself has neither NaN nor infinities."""
    if not isinstance(value, float):
        return {"integer": int(value)}
    return {"float": _json_float(value)}


def _json_float(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _state() -> Json:
    """Of the process, as far as what is called depends on it."""
    return {
        "threads": torch.get_num_threads(),
        "mxcsr": _core.mxcsr(),
        "grad_mode": torch.is_grad_enabled(),
        "default_dtype": dtype_name(torch.get_default_dtype()),
    }


def _float32_precision() -> Json:
    """How library calls may compute in float32."""
    library: Any = torch.backends.mkldnn
    return {
        "matmul": library.matmul.fp32_precision,
        "conv": library.conv.fp32_precision,
        "rnn": library.rnn.fp32_precision,
    }


def _symbols_json(symbols: dict[str, int | float]) -> Json:
    return {
        name: _json_float(value) if isinstance(value, float) else value
        for name, value in symbols.items()
    }


class CallWriter:
    """Writes one call's storages and views into the run."""

    def __init__(self, writer: Any, inputs: str) -> None:
        self._writer = writer
        self._inputs = inputs

    def write(
        self, site: Site, args: tuple[Any, ...], step: int, symbols: dict[str, int | float]
    ) -> None:
        """`symbols`: the values that the graph's own inputs show."""
        own = site.spec["arguments"]
        if len(args) != len(own):
            raise RuntimeError(
                f"{site.name} was called with {len(args)} arguments, its signature has {len(own)}"
            )
        storages = _Storages()
        arguments = [
            self._argument(site.name, value, argument["role"], storages)
            for value, argument in zip(args, own, strict=True)
        ]
        arguments += [self._argument(site.name, value, "in", storages) for value in site.constants]
        record = {
            "index": site.recorded,
            "step": step,
            **_state(),
            "symbols": _symbols_json({**symbol_values(site.symbol_places, args), **symbols}),
            "storages": self._kept(storages),
            "arguments": arguments,
        }
        self._writer.write_call(site.name, json.dumps(record))

    def write_graph_call(
        self, graph: str, args: Sequence[Any], index: int, symbols: dict[str, int | float]
    ) -> None:
        """A call of a whole graph. `args`: its own arguments, then its constants."""
        what = f"graph {graph}"
        storages = _Storages()
        arguments = [self._argument(what, value, "in", storages) for value in args]
        generator = torch.get_rng_state()
        record = {
            "index": index,
            "step": index,
            **_state(),
            "float32_precision": _float32_precision(),
            "symbols": _symbols_json(symbols),
            "arguments": arguments,
            "generator": storages.add(generator.untyped_storage(), "in"),
            "storages": self._kept(storages),
        }
        self._writer.write_graph_call(graph, json.dumps(record))

    @staticmethod
    def _argument(what: str, value: Any, role: str, storages: _Storages) -> Json:
        if not isinstance(value, torch.Tensor):
            return _number(value)
        layout = tensor_layout(value)
        if layout is None:
            raise RuntimeError(f"{what} was called with a {value.layout} {value.dtype} tensor")
        return {"storage": storages.add(value.untyped_storage(), role), "layout": layout}

    def _kept(self, storages: _Storages) -> list[Json]:
        for index, storage in storages.needed.items():
            self._keep(storages.entries[index], storage)
        return storages.entries

    def _keep(self, entry: Json, storage: Any) -> None:
        if self._inputs == "layout":
            entry["omitted"] = "layout"
            return
        blob = self._writer.write_blob(storage.data_ptr(), storage.nbytes())
        entry["size_bytes"] = storage.nbytes()
        entry["omitted"] = "" if blob else "budget"
        entry["blob"] = blob


class CallSequence:
    """Which call site a call belongs to. Equal sources share one kernel name, so a name alone does
    not tell; but a graph calls its sites in order. (Those of a conditional sub-graph may be left
    out, those of a loop's body come again.) Each thread has its own place in the order."""

    def __init__(self, sites: list[Site]) -> None:
        self._sites = sites
        self._place = threading.local()

    def begin(self, symbols: dict[str, int | float]) -> None:
        """The graph is called: its sites come from the first on, wherever the call before ended."""
        self._place.position = 0
        self._place.symbols = symbols
        self._place.step = getattr(self._place, "step", -1) + 1

    def next(self, kernel: str) -> tuple[Site, int]:
        """The site that is called now, and how often the graph had been called before."""
        found = self._find(kernel, getattr(self._place, "position", 0))
        if found is None:
            found = self._find(kernel, 0)
        if found is None:
            raise RuntimeError(f"{kernel} is no kernel of this graph")
        self._place.position = found + 1
        return self._sites[found], getattr(self._place, "step", 0)

    def symbols(self) -> dict[str, int | float]:
        """What the inputs of the graph's present call show of its symbols."""
        values: dict[str, int | float] = getattr(self._place, "symbols", {})
        return values

    def _find(self, kernel: str, begin: int) -> int | None:
        for position in range(begin, len(self._sites)):
            if self._sites[position].kernel == kernel:
                return position
        return None


class KernelProxy:
    """Stands for one kernel in the globals of a generated module."""

    __slots__ = ("_kernel", "_name", "_observe")

    def __init__(
        self, kernel: Callable[..., Any], name: str, observe: Callable[[str, tuple[Any, ...]], None]
    ) -> None:
        self._kernel = kernel
        self._name = name
        self._observe = observe

    def __call__(self, *args: Any) -> Any:
        self._observe(self._name, args)
        return self._kernel(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


class CallRecorder:
    """Observes the kernels of one loaded module."""

    def __init__(
        self,
        sites: list[Site],
        symbol_places: list[SymbolPlace],
        namespace: dict[str, Any],
        writer: CallWriter,
        *,
        calls: int,
        report: Callable[[str], None],
    ) -> None:
        self._sites = sites
        self._symbol_places = symbol_places
        self._namespace = namespace
        self._writer = writer
        self._calls = calls
        self._report = report
        self._sequence = CallSequence(sites)
        self._lock = threading.Lock()
        self._kernels = {
            site.kernel: namespace[site.kernel] for site in sites if site.kernel in namespace
        }
        self._graph_call = namespace.get("call")
        self._is_detached = False

    def attach(self) -> None:
        """Before anybody has taken `call` out of the module."""
        if self._kernels and self._graph_call is not None:
            self._namespace["call"] = self._announcing(self._graph_call)
        for name, kernel in self._kernels.items():
            self._namespace[name] = KernelProxy(kernel, name, self._observe)

    def detach(self) -> None:
        """Puts back the kernels that are still observed. Who has taken `call` keeps its wrapper."""
        self._is_detached = True
        if self._graph_call is not None:
            self._namespace["call"] = self._graph_call
        for name, kernel in self._kernels.items():
            if isinstance(self._namespace.get(name), KernelProxy):
                self._namespace[name] = kernel

    def _announcing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        begin = self._sequence.begin
        read_symbols = self._read_symbols

        @functools.wraps(call)
        def announced(*args: Any, **kwargs: Any) -> Any:
            begin(read_symbols(args))
            return call(*args, **kwargs)

        return announced

    def _read_symbols(self, args: tuple[Any, ...]) -> dict[str, int | float]:
        """Of the graph's call, which takes all of its inputs in one list."""
        if not self._symbol_places or self._is_detached:
            return {}
        try:
            return symbol_values(self._symbol_places, args[0])
        except Exception as error:  # the program must go on
            self._report(f"the symbolic sizes of a call could not be read: {error}")
            return {}

    def _observe(self, name: str, args: tuple[Any, ...]) -> None:
        try:
            with self._lock:
                site, step = self._sequence.next(name)
                if site.wants(args, self._calls):
                    self._writer.write(site, args, step, self._sequence.symbols())
                    site.note(args)
                if all(s.recorded >= self._calls for s in self._sites if s.kernel == name):
                    self._namespace[name] = self._kernels[name]
        except Exception as error:  # the program must go on; what was lost is on record
            self._namespace[name] = self._kernels[name]
            self._report(f"the call of {name} was not recorded: {error}")
