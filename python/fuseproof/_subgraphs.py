"""Calls of operators of higher order (cond, while_loop), for the Python worker: the graphs that
they call are rebuilt from plain data (src/reference/subgraph_call.h)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch

from fuseproof._torch_hooks import register_operators
from fuseproof._values import Refusal, read_value

Json = dict[str, Any]
FindOperator = Callable[[str], torch._ops.OpOverload]

_HIGHER_ORDER = "python:torch.ops.higher_order."
# Python's own functions in graphs, beside `getitem`: arithmetic on sizes.
_MODULES = {"python:_operator.": operator, "python:math.": math, "python:torch.sym_": torch}


class SubgraphCall:
    """One call. Raises Refusal, which names the node, where a graph cannot be rebuilt."""

    def __init__(self, target: str, call: Json, find_operator: FindOperator) -> None:
        self._find_operator = find_operator
        self._target = _function(target, find_operator)
        self._call = call
        self._graphs = {
            name: _rebuilt(graph, name, find_operator) for name, graph in call["subgraphs"].items()
        }

    def describe(self) -> Json:
        operands = ", ".join(f"Any operand{i}" for i in range(self._call["operand_count"]))
        return {
            "reply": "operator",
            "schema": f"higher_order::call({operands}) -> Any",
            # Its graphs may; but they compute as well, so that its results are no mere draw.
            "draws_random_numbers": False,
        }

    def run(self, operands: list[Any]) -> Any:
        tensors = [operand for operand in operands if isinstance(operand, torch.Tensor)]
        versions = [tensor._version for tensor in tensors]
        references = {
            "node": lambda value: operands[int(value["node"])],
            "subgraph": lambda value: self._graphs[value["subgraph"]],
            "operator": lambda value: self._find_operator(value["operator"]),
        }
        positional = read_value(self._call["arguments"], references)
        keywords = self._call["keywords"].items()
        named = {name: read_value(value, references) for name, value in keywords}
        results = self._target(*positional, **named)
        # Nothing announces such writes: they would be lost.
        if [tensor._version for tensor in tensors] != versions:
            raise Refusal("one of its graphs writes into an operand")
        return results


def _function(target: str, find_operator: FindOperator) -> Callable[..., Any]:
    if target == "getitem":
        return operator.getitem
    if target.startswith(_HIGHER_ORDER):
        register_operators("higher_order")
        name = target.removeprefix(_HIGHER_ORDER)
        found = getattr(torch.ops.higher_order, name, None)
        if found is None:
            raise Refusal(f"torch has no operator of higher order `{name}`")
        return found  # type: ignore[no-any-return]
    for prefix, module in _MODULES.items():
        function = getattr(module, target.rpartition(".")[2], None)
        if target.startswith(prefix) and callable(function):
            return function  # type: ignore[no-any-return]
    return find_operator(target)


def _rebuilt(graph: Json, name: str, find_operator: FindOperator) -> torch.fx.GraphModule:
    # get_attr() looks a name up in the module that owns the graph.
    module = torch.fx.GraphModule({}, torch.fx.Graph())
    for inner, subgraph in graph.get("subgraphs", {}).items():
        module.add_submodule(inner, _rebuilt(subgraph, f"{name}.{inner}", find_operator))
    nodes: dict[str, torch.fx.Node] = {}
    references = {
        "node": lambda value: nodes[value["node"]],
        "subgraph": lambda value: module.graph.get_attr(value["subgraph"]),
        "operator": lambda value: find_operator(value["operator"]),
    }
    for node in graph["nodes"]:
        try:
            nodes[node["name"]] = _added(module.graph, node, references, find_operator)
        except Refusal as refusal:
            target = node.get("target", node["kind"])
            where = f"node `{node['name']}` ({target}) of its graph `{name}`"
            raise Refusal(f"{where}: {refusal}") from None
    module.recompile()
    return module


def _added(
    graph: torch.fx.Graph,
    node: Json,
    references: dict[str, Callable[[Any], Any]],
    find_operator: FindOperator,
) -> torch.fx.Node:
    if node["kind"] == "placeholder":
        return graph.placeholder(node["name"])
    if node["kind"] == "constant":
        raise Refusal("constants of such graphs are not on record")
    arguments = read_value(node.get("arguments", []), references)
    if node["kind"] == "output":
        output: torch.fx.Node = graph.output(*arguments)
        return output
    function = _function(node["target"], find_operator)
    keywords = node.get("keywords", {}).items()
    named = {name: read_value(value, references) for name, value in keywords}
    return graph.call_function(function, arguments, named)
