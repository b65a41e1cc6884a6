"""Reads what Inductor knows of a lowered graph into plain data (src/fragment/lowering_record.h).

No judgement here: what belongs to a kernel's fragment is decided by the slicer.
"""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.fx import Node

from fuseproof import _core
from fuseproof._sizes import SYMBOLIC, Sizes
from fuseproof._torch_hooks import internals

Json = dict[str, Any]

_TORCH_FOLDER = os.path.dirname(torch.__file__) + os.sep
_FRAME = re.compile(r'  File "(?P<file>.+)", line (?P<line>\d+), in .*\n(?P<text>[^\n]*)')


class Unserializable(Exception):
    """An argument of a node that a record cannot hold."""


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def layout(
    dtype: torch.dtype, shape: Any, strides: Any, offset: Any, number: Callable[[Any], int | str]
) -> Json | None:
    """None when the dtype has no name in the records. `number` writes a size as plain data."""
    if not _core.knows_dtype(dtype_name(dtype)):
        return None
    return {
        "dtype": dtype_name(dtype),
        "shape": [number(size) for size in shape],
        "strides": [number(stride) for stride in strides],
        "offset": number(offset),
    }


def tensor_layout(value: object, number: Callable[[Any], int | str] = int) -> Json | None:
    """Of a tensor; with the `Sizes.text` of its graph for one that may have symbolic sizes."""
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return None
    return layout(value.dtype, value.shape, value.stride(), value.storage_offset(), number)


def buffer_layout(buffer_layout: Any, sizes: Sizes) -> Json | None:
    """Of one of Inductor's layouts; None when it is no strided one.

    A buffer that stands for a write into another one has that one's: its own sizes may be a view's.
    """
    try:
        if isinstance(buffer_layout, internals().ir.MutationLayoutSHOULDREMOVE):
            buffer_layout = buffer_layout.real_layout()
        size, stride = list(buffer_layout.size), list(buffer_layout.stride)
    except (AttributeError, TypeError, AssertionError, NotImplementedError):
        return None
    offset = getattr(buffer_layout, "offset", 0)
    return layout(buffer_layout.dtype, size, stride, offset, sizes.text)


# --- The FX graph ---------------------------------------------------------------------------------


def argument(value: Any, sizes: Sizes) -> Any:
    """An argument of a node in the JSON of src/graph/graph.h."""
    if isinstance(value, (list, tuple)):
        return [argument(element, sizes) for element in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, SYMBOLIC):
        return _symbol(value, sizes)
    return number_or_constant(value)


def _symbol(value: Any, sizes: Sizes) -> Json:
    hint = value.node.hint
    known = {"hint": hint} if type(hint) is int else {}
    return {"symbol": str(sizes.text(value)), **known}


_CONSTANTS = {
    "dtype": torch.dtype,
    "device": torch.device,
    "layout": torch.layout,
    "memory_format": torch.memory_format,
}


def number_or_constant(value: Any) -> Any:
    if isinstance(value, Node):
        is_subgraph = subgraph_of(value) is not None
        return {"subgraph": str(value.target)} if is_subgraph else {"node": value.name}
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, complex):
        return {"complex": [_float_part(value.real), _float_part(value.imag)]}
    for kind, cls in _CONSTANTS.items():
        if isinstance(value, cls):
            return {kind: str(value).removeprefix("torch.")}
    if isinstance(value, torch._ops.OpOverload):
        return {"operator": str(value)}
    if isinstance(value, torch._ops.HigherOrderOperator):
        # What functionalization makes of a call whose graphs write into its operands.
        name: Any = value.name
        raise Unserializable(f"a graph that `{name()}` calls writes into an operand")
    raise Unserializable(f"{value!r}, a {type(value).__module__}.{type(value).__qualname__}")


def subgraph_of(node: Node) -> torch.fx.GraphModule | None:
    """The graph that a get_attr node stands for, if it is one: the argument of a call that calls
    it."""
    if node.op != "get_attr":
        return None
    value: Any = node.graph.owning_module
    for part in str(node.target).split("."):
        value = getattr(value, part, None)
    return value if isinstance(value, torch.fx.GraphModule) else None


def _float_part(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)  # "nan", "inf", "-inf"


def _float(value: float) -> float | Json:
    part = _float_part(value)
    return {"float": part} if isinstance(part, str) else part


def target_name(node: Node) -> str:
    target: Any = node.target
    if node.op in ("call_method", "call_module"):
        return f"{node.op.removeprefix('call_')}:{target}"
    if target is operator.getitem:
        return "getitem"
    if isinstance(target, torch._ops.OpOverload):
        # Inductor makes `_foreach_mul` in-place in the graph but goes on to use its result, which
        # the in-place operator does not have.
        is_used = bool(node.users) and not target._schema.returns
        return str(target).replace("_.", ".") if is_used else str(target)
    if isinstance(target, torch._ops.OpOverloadPacket):
        # Some passes of Inductor leave the choice of an overload to the call.
        overloads: Any = target.overloads
        names = [name for name in overloads() if not _writes_to_out(getattr(target, name))]
        if len(names) == 1:
            return f"{target}.{names[0]}"
    name = getattr(target, "__qualname__", None) or str(target)
    return f"python:{getattr(target, '__module__', '')}.{name}"


def _writes_to_out(overload: torch._ops.OpOverload) -> bool:
    return any(argument.is_out for argument in overload._schema.arguments)


def mutated_nodes(node: Node) -> list[str]:
    """The nodes that a call writes into, by its schema."""
    if node.target is operator.getitem and isinstance(node.args[0], Node):
        return mutated_nodes(node.args[0])
    if not isinstance(node.target, torch._ops.OpOverload) or not node.target._schema.is_mutable:
        return []
    names = []
    for position, parameter in enumerate(node.target._schema.arguments):
        if parameter.alias_info is None or not parameter.alias_info.is_write:
            continue
        is_positional = position < len(node.args)
        value = node.args[position] if is_positional else node.kwargs.get(parameter.name)
        values = value if isinstance(value, (list, tuple)) else [value]
        names += [element.name for element in values if isinstance(element, Node)]
    return names


def source_of(node: Node) -> Json | None:
    """The innermost frame of the user's code in the node's stack trace."""
    frames = list(_FRAME.finditer(node.meta.get("stack_trace") or ""))
    users = [frame for frame in frames if not frame["file"].startswith(_TORCH_FOLDER)]
    if not frames:
        return None
    frame = (users or frames)[-1]
    return {"file": frame["file"], "line": int(frame["line"]), "text": frame["text"].strip()}


_KINDS = {"placeholder": "placeholder", "get_attr": "constant", "output": "output"}


def _value(node: Node, fallback: object = None) -> Any:
    """What stands for a node's value while it is compiled; in Dynamo's graphs, its own key does."""
    return node.meta.get("val", node.meta.get("example_value", fallback))


def _node(node: Node, constants: dict[str, torch.Tensor], sizes: Sizes) -> Json:
    value = _value(node, constants.get(node.name))
    is_tuple = isinstance(value, (list, tuple))
    parts: Any = value if is_tuple else [value] if isinstance(value, torch.Tensor) else []
    result: Json = {
        "name": node.name,
        "kind": _KINDS.get(node.op, "call"),
        "values": [tensor_layout(part, sizes.text) for part in parts],
        "is_tuple": is_tuple,
    }
    if isinstance(value, SYMBOLIC):
        result["number"] = _symbol(value, sizes)
    if node.op == "get_attr":
        result["target"] = str(node.target)
    elif node.op not in ("placeholder", "output"):
        result["target"] = target_name(node)
    if node.op not in ("placeholder", "get_attr"):
        result["arguments"] = [argument(value, sizes) for value in node.args]
        keywords = node.kwargs.items()
        result["keywords"] = {name: argument(value, sizes) for name, value in keywords}
    source = source_of(node)
    if source is not None:
        result["source"] = source
    return result


def _symbolic_numbers(node: Node) -> list[Any]:
    """The symbolic numbers in a node's value: itself, or sizes of its tensors."""
    value = _value(node)
    parts = list(value) if isinstance(value, (list, tuple)) else [value]
    parts += [size for part in parts if isinstance(part, torch.Tensor) for size in part.shape]
    return [part for part in parts if isinstance(part, SYMBOLIC)]


def _aliases(graph: torch.fx.Graph) -> dict[str, str]:
    """For each node that lies in the memory of an earlier one: the first node there."""
    first: dict[int, str] = {}
    aliases = {}
    for node in graph.nodes:
        value = _value(node)
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            continue
        name = first.setdefault(value.untyped_storage()._cdata, node.name)
        if name != node.name:
            aliases[node.name] = name
    return aliases


_NO_TENSOR = "its value is no plain tensor"
_OF_SUBGRAPH = "a constant that a graph makes itself is not kept; one from outside is an operand"


def read_nodes(
    graph: torch.fx.Graph,
    constants: dict[str, torch.Tensor],
    sizes: Sizes,
    unknown_constant: str = _NO_TENSOR,
) -> Json:
    """A graph. `constants`: the values of its get_attr nodes, by node name; `unknown_constant` says
    why others have none. Those that are graphs are read into `subgraphs`, and are no nodes."""
    nodes, mutations = [], {}
    problems: dict[str, str] = {}
    symbols: dict[str, int] = {}
    subgraphs: dict[str, Json] = {}
    is_static = True
    for node in graph.nodes:
        if (module := subgraph_of(node)) is not None:
            read = read_nodes(module.graph, {}, sizes, _OF_SUBGRAPH)
            subgraphs[str(node.target)] = read["graph"]
            symbols.update(read["symbols"])
            is_static = is_static and read["is_static"]
            for name, problem in read["problems"].items():
                text = f"node `{name}` of its graph `{node.target}`: {problem}"
                problems.update({user.name: text for user in node.users})
            continue
        try:
            nodes.append(_node(node, constants, sizes))
        except Unserializable as problem:
            problems[node.name] = str(problem)
            bare = {"name": node.name, "kind": _KINDS.get(node.op, "call"), "values": []}
            nodes.append({**bare, "target": target_name(node)})
        if node.op == "get_attr" and node.name not in constants:
            problems[node.name] = unknown_constant
        if targets := mutated_nodes(node):
            mutations[node.name] = targets
        for number in _symbolic_numbers(node):
            is_static = False
            if isinstance(number.node.hint, int) and number.node.expr.is_symbol:
                symbols[str(number.node.expr)] = number.node.hint
    return {
        "graph": {"nodes": nodes, **({"subgraphs": subgraphs} if subgraphs else {})},
        "mutations": mutations,
        "problems": problems,
        "is_static": is_static,
        "symbols": symbols,
    }


def read_graph(graph: Any, constants: dict[str, torch.Tensor], sizes: Sizes) -> Json:
    """The lowered graph."""
    external = sorted({name for _, name in external_operations(graph)})
    nodes = graph.module.graph
    return {
        **read_nodes(nodes, constants, sizes),
        "aliases": _aliases(nodes),
        "external_nodes": external,
    }


# --- External calls -------------------------------------------------------------------------------


def origin_of(operation: Any, order: dict[str, int]) -> str | None:
    """The FX node that an operation computes: the last of its origins."""
    origin = getattr(operation, "origin_node", None)
    if origin is not None:
        return str(origin.name)
    names = [node.name for node in operation.origins if node.name in order]
    return max(names, key=order.__getitem__, default=None)


def external_operations(graph: Any) -> Iterator[tuple[Any, str]]:
    """(operation, name of its FX node) of every call into a library."""
    ir = internals().ir
    order = node_order(graph)
    for operation in graph.operations:
        if not isinstance(operation, ir.ExternKernel) or isinstance(operation, ir.MultiOutput):
            continue
        name = origin_of(operation, order)
        if name is not None:
            yield operation, name


def node_order(graph: Any) -> dict[str, int]:
    return {node.name: index for index, node in enumerate(graph.module.graph.nodes)}


def operands(node: Node) -> list[Node]:
    """The nodes among the arguments, nested and repeated ones included, in order."""
    found: list[Node] = []
    torch.fx.node.map_arg((node.args, node.kwargs), found.append)
    return found
