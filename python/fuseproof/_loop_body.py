"""Reads the loop body of a scheduler node into plain data (src/fragment/lowering_record.h): its
ranges, and its operations as the nodes of a graph."""

from __future__ import annotations

import operator
from typing import Any

from torch.fx import Node

from fuseproof._lowering import Json, Unserializable, argument
from fuseproof._sizes import Sizes


def read_loop_body(sizes: Sizes, scheduler_node: Any) -> Json:
    """{"body": …}; nothing for a node that has none (a template)."""
    body = getattr(scheduler_node, "_body", None)
    if body is None:
        return {}
    try:
        return {
            "body": {
                "iteration": _ranges(body.iter_vars, body.sizes[0], sizes),
                "reduction": _ranges(body.reduce_vars, body.sizes[1], sizes),
                "graph": {"nodes": _operations(body, sizes)},
            }
        }
    except Unserializable as problem:
        return {"body": {"problem": f"an operand that cannot be recorded, {problem}"}}
    except Exception as problem:  # the kernel has its FX values all the same
        text = f"{type(problem).__name__}: {problem}"
        return {"body": {"problem": f"its loop body cannot be read, {text}"}}


def _ranges(variables: Any, lengths: Any, sizes: Sizes) -> list[Json]:
    return [
        {"variable": str(variable), "size": sizes.text(length)}
        for variable, length in zip(variables, lengths, strict=True)
    ]


def _operations(body: Any, sizes: Sizes) -> list[Json]:
    nodes: list[Json] = []
    indices: dict[Node, Json] = {}
    for node in body.root_block.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if node.target == "get_index":
            text = sizes.index_text(body.indexing_exprs[node.args[0]], body.var_ranges)
            indices[node] = {"symbol": text}
            continue
        # The first argument of a method is the handler of the operations.
        is_method = node.op == "call_method"
        operands = node.args[1:] if is_method else node.args
        keywords = node.kwargs.items()
        name = "getitem" if node.target is operator.getitem else f"ops.{node.target}"
        nodes.append(
            {
                "name": node.name,
                "kind": "call",
                "target": name,
                "values": [],
                "arguments": [_operand(value, indices, sizes) for value in operands],
                "keywords": {key: _operand(value, indices, sizes) for key, value in keywords},
            }
        )
    return nodes


def _operand(value: Any, indices: dict[Node, Json], sizes: Sizes) -> Any:
    if isinstance(value, (list, tuple)):
        return [_operand(element, indices, sizes) for element in value]
    if isinstance(value, Node) and value in indices:
        return indices[value]
    return argument(value, sizes)
