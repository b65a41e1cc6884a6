"""One lowered graph: what is kept of it while its kernels are generated, and what goes into the
side file of the module that it is compiled to."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import torch

from fuseproof import _core
from fuseproof._calls import Site
from fuseproof._chain import Chain
from fuseproof._environment import build_recipe
from fuseproof._kernel_record import GraphFacts
from fuseproof._sizes import SymbolPlace

Json = dict[str, Any]


@dataclass
class GraphRecord:
    """One lowered graph."""

    id: str
    kind: str  # "inference", "forward", "backward"
    is_static: bool
    symbols: dict[str, int]  # and their hints
    is_cpp_wrapper: bool
    node_count: int
    facts: GraphFacts  # until close(); out of a side file: never there
    lowered: Any  # _core.LoweredGraph, likewise
    document: Json | None  # None once it has been written
    constants: dict[str, torch.Tensor]
    symbol_places: list[SymbolPlace]  # in the arguments of the graph's own call
    recipe: Json  # how its kernels are built
    order: list[Json] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)  # of a main graph: those of its sub-graphs too
    chain: Chain = field(default_factory=Chain)  # of a main graph

    @property
    def main_id(self) -> str:
        return self.id.partition(".")[0]

    def info(self) -> Json:
        return {
            "id": self.id,
            "kind": self.kind,
            "nodes": self.node_count,
            "kernels": sum(item["kind"] == "kernel" for item in self.order),
            "external_calls": sum(item["kind"] == "external" for item in self.order),
            "is_static": self.is_static,
            "cpp_wrapper": self.is_cpp_wrapper,
        }

    def close(self) -> None:
        """Lets go of the compiler's objects; what is needed later has been copied."""
        self.facts = self.lowered = None  # type: ignore[assignment]

    def release(self) -> None:
        """Once all has been written."""
        self.document = None
        self.chain = Chain()


def new_record(
    graph: Any, identifier: str, values: dict[Any, Any], constants: dict[str, torch.Tensor]
) -> GraphRecord:
    facts = GraphFacts(graph, values)
    document = facts.lowered(constants)
    return GraphRecord(
        id=identifier,
        kind="backward" if graph.is_backward else "inference" if graph.is_inference else "forward",
        is_static=document["is_static"],
        symbols=document["symbols"],
        is_cpp_wrapper=bool(graph.cpp_wrapper),
        node_count=len(document["graph"]["nodes"]),
        facts=facts,
        lowered=_core.LoweredGraph(json.dumps(document)),
        document=document,
        constants=constants,
        symbol_places=facts.input_places(),
        recipe=build_recipe(),
    )


def main_graph(graph: Any) -> Any:
    while hasattr(graph, "parent"):
        graph = graph.parent
    return graph
