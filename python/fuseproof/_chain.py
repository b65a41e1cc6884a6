"""The graphs that a lowered graph comes from: as Dynamo captured it, and as AOTAutograd traced it
(ATen calls, before Inductor's passes; of a training step forward and backward in one)."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from fuseproof._lowering import read_nodes
from fuseproof._sizes import Sizes
from fuseproof._torch_hooks import internals

Json = dict[str, Any]


@dataclass(frozen=True)
class Chain:
    """None for a graph that was not seen: the capture began behind it, or a cache held what
    followed."""

    dynamo: Json | None = None
    aten: Json | None = None

    def documents(self) -> dict[str, Json]:
        named = {"dynamo": self.dynamo, "aten": self.aten}
        return {name: document for name, document in named.items() if document is not None}

    def begins_as(self, other: Chain) -> bool:
        """Whether both come from the same graph of Dynamo's, wherever its lines stand."""
        if self.dynamo is None or other.dynamo is None:
            return False
        return bool(_without_sources(self.dynamo) == _without_sources(other.dynamo))

    def completed(self, known: Iterable[Chain]) -> Chain:
        """A chain that a cache cut short, with what is known of an equal one."""
        if self.aten is not None:
            return self
        return next((Chain(self.dynamo, one.aten) for one in known if one.begins_as(self)), self)


class _Current(threading.local):
    def __init__(self) -> None:
        self.chains = [Chain()]  # of compilations within compilations; the last is at work


class Chains:
    """Follows what is compiled, by thread and by tracing context: a backward graph may be compiled
    long after its forward graph."""

    def __init__(self) -> None:
        self._current = _Current()
        self._of: weakref.WeakKeyDictionary[Any, list[Chain]] = weakref.WeakKeyDictionary()

    def begin(self, module: object) -> None:
        self._current.chains.append(Chain())
        if isinstance(module, torch.fx.GraphModule):
            self._current.chains[-1] = Chain(_read(module))

    def end(self) -> None:
        if len(self._current.chains) > 1:  # else the capture began in the middle
            self._current.chains.pop()

    def traced(self, module: torch.fx.GraphModule) -> None:
        """The last of a compilation is the whole one; those before it are of nested regions."""
        before = self._current.chains[-1]
        chain = self._current.chains[-1] = Chain(before.dynamo, _read(module))
        context = internals().TracingContext.try_get()
        if context is None:
            return
        known = self._of.setdefault(context, [])
        if known and known[-1] is before:
            known.pop()
        known.append(chain)

    def current(self) -> Chain:
        """Of the graph that this thread lowers or loads now."""
        chain = self._current.chains[-1]
        context = internals().TracingContext.try_get()
        if chain != Chain() or context is None:
            return chain
        known = self._of.get(context, [])
        # Several graphs of one context (DDP's buckets): a late one could belong to any.
        return known[0] if len(known) == 1 else Chain()


def _read(module: Any) -> Json:
    context = internals().TracingContext.try_get()
    shape_env = getattr(getattr(context, "fake_mode", None), "shape_env", None)
    document = read_nodes(module.graph, {}, Sizes(internals().SizeVarAllocator(shape_env)))
    return {name: document[name] for name in ("graph", "problems", "is_static", "symbols")}


def _without_sources(document: Json | None) -> Any:
    if document is None:
        return None
    nodes = document["graph"]["nodes"]
    return [{key: node[key] for key in node if key != "source"} for node in nodes]
