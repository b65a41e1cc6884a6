"""Reads a generated kernel into the slicer's record of it (src/fragment/lowering_record.h)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any
from unittest import mock

import sympy
import torch

from fuseproof._loop_body import read_loop_body
from fuseproof._lowering import (
    Json,
    buffer_layout,
    dtype_name,
    external_operations,
    node_order,
    operands,
    origin_of,
    read_graph,
)
from fuseproof._sizes import Sizes, SymbolPlace, place_of_number, places_in
from fuseproof._torch_hooks import internals


def location(value: Any, sizes: Sizes) -> tuple[str, Json | None] | None:
    """(buffer, view or None for the whole buffer) of a lowered value; None when it lies nowhere."""
    ir = internals().ir
    if isinstance(value, ir.TensorBox):
        value = value.data
    if isinstance(value, ir.ReinterpretView):
        view = buffer_layout(value.get_layout(), sizes)
        return (value.get_name(), view) if view is not None else None
    if isinstance(value, ir.StorageBox):
        value = value.data
    if isinstance(value, ir.Buffer) and value.name:
        return value.get_name(), None
    return None  # not realised, or a view that only an index expression describes


# A number that is passed says more than a tensor's shape, and that more than its strides, which
# mean nothing where a size is one.
_FIELDS = ("number", "shape", "strides")
_NO_LAYOUT: Json = {"shape": [], "strides": []}


class GraphFacts:
    """What is the same for all kernels of a graph once it has been scheduled."""

    def __init__(self, graph: Any, values: dict[Any, Any]) -> None:
        self.graph = graph
        self.sizes = Sizes(graph.sizevars)
        self.real_names: dict[str, str] = graph.scheduler.mutation_real_name
        self.order = node_order(graph)
        self.locations: list[Json] = []
        whole: dict[str, list[str]] = defaultdict(list)  # the nodes that are all of a buffer
        for node, value in values.items():
            if isinstance(value, (list, tuple)):
                continue
            place = location(value, self.sizes)
            if place is None:
                continue
            buffer, view = place
            if node.op == "placeholder" and buffer != node.target:
                # Copied to another layout; the input itself is still there.
                self.locations.append({"node": node.name, "buffer": node.target})
            if view is None:
                self.locations.append({"node": node.name, "buffer": buffer})
                whole[buffer].append(node.name)
            else:
                self.locations.append({"node": node.name, "buffer": buffer, "view": view})
        nodes = {node.name: node for node in graph.module.graph.nodes}
        self.pieces = self._pieces(nodes, whole)
        self.consumers = self._consumers(nodes, whole)

    def real_name(self, buffer: str) -> str:
        return self.real_names.get(buffer, buffer)

    def lowered(self, constants: dict[str, torch.Tensor]) -> Json:
        """The record of the whole graph. `constants`: the values of its get_attr nodes."""
        graph = self.graph
        buffers = [*graph.graph_inputs, *graph.constants, *graph.name_to_buffer]
        document = read_graph(graph, constants, self.sizes)
        return {
            **document,
            "mutations": {**self._functional_mutations(), **document["mutations"]},
            "locations": self.locations,
            "buffers": {name: self._buffer(name) for name in buffers},
        }

    def input_places(self) -> list[SymbolPlace]:
        """Where the arguments of the graph's own call show its symbols."""
        places = []
        for position, name in enumerate(self.graph.graph_input_names):
            value = self.graph.graph_inputs.get(name)
            if isinstance(value, sympy.Expr):
                places += place_of_number(position, self.sizes.text(value))
            else:
                places += places_in(position, self._buffer(name).get("layout", _NO_LAYOUT))
        return sorted(places, key=lambda place: _FIELDS.index(place.field))

    def argument_places(self, arguments: list[Json]) -> list[SymbolPlace]:
        """The same for a call of a kernel."""
        places = []
        for position, argument in enumerate(arguments):
            if argument["use"] == "size":
                places += place_of_number(position, argument["value"])
            else:
                layout = self._buffer(argument["value"]).get("layout", _NO_LAYOUT)
                places += places_in(position, layout)
        return sorted(places, key=lambda place: _FIELDS.index(place.field))

    def _functional_mutations(self) -> dict[str, list[str]]:
        """Calls that write into no argument of theirs but are lowered to a copy that is then
        changed in place (scatter_add)."""
        whole = {(place["node"], self.real_name(place["buffer"])) for place in self.locations}
        found: dict[str, list[str]] = {}
        for operation in self.graph.operations:
            for buffer in operation.get_outputs():
                real = self.real_names.get(buffer.get_name())
                node = origin_of(operation, self.order)
                if real is not None and (node, real) in whole:
                    found[str(node)] = []
        return found

    def _buffer(self, name: str) -> Json:
        result: Json = {"real": self.real_name(name)}
        buffer = self.graph.try_get_buffer(name)
        if isinstance(getattr(buffer, "layout", None), internals().ir.NonOwningLayout):
            result["base"] = buffer.layout.view.get_name()
            view = buffer_layout(buffer.layout.view.get_layout(), self.sizes)
            if view is not None:
                result["base_view"] = view
        try:
            layout = buffer_layout(buffer.get_layout(), self.sizes)
        except (AttributeError, NotImplementedError):
            layout = None  # a symbolic size that is a graph input, say
        if layout is not None:
            result["layout"] = layout
        origin = getattr(buffer, "origin_node", None)
        if origin is not None:
            result["origin"] = origin.name
        reduction = getattr(getattr(buffer, "data", None), "reduction_type", None)
        if reduction == "sum" and (node := origin_of(buffer, self.order)) is not None:
            result["sum_for"] = node
        return result

    def _pieces(self, nodes: dict[str, Any], whole: dict[str, list[str]]) -> dict[str, Json]:
        """For each buffer that is a piece of a concatenation: which one."""
        pieces: dict[str, Json] = {}
        for operation in self.graph.operations:
            if not isinstance(operation, internals().ir.ConcatKernel):
                continue
            for name in whole[operation.get_name()]:
                if len(operands(nodes[name])) != len(operation.inputs):
                    continue
                for index, piece in enumerate(operation.inputs):
                    pieces.setdefault(piece.get_name(), {"node": name, "index": index})
        return pieces

    def _consumers(
        self, nodes: dict[str, Any], whole: dict[str, list[str]]
    ) -> dict[str, list[Json]]:
        """For each buffer: the operands of external calls that it is."""
        ir = internals().ir
        consumers: dict[str, list[Json]] = defaultdict(list)
        for operation, name in external_operations(self.graph):
            places = [
                location(value, self.sizes) if isinstance(value, ir.IRNode) else None
                for value in operation.inputs
            ]
            if not _are_operands(places, operands(nodes[name]), whole):
                continue
            for index, place in enumerate(places):
                if place is None:
                    continue
                view = {} if place[1] is None else {"view": place[1]}
                consumers[place[0]].append({"node": name, "index": index, **view})
        return consumers


def _are_operands(
    places: list[tuple[str, Json | None] | None], nodes: list[Any], whole: dict[str, list[str]]
) -> bool:
    """Whether the inputs of a library call are the operands of an FX call, one by one. A lowering
    may leave the last ones to a kernel (a bias): then those inputs that are nodes' values tell."""
    if len(places) >= len(nodes):
        return len(places) == len(nodes)
    known = [
        node.name in whole[place[0]]
        for place, node in zip(places, nodes, strict=False)
        if place is not None and place[1] is None and whole.get(place[0])
    ]
    return any(known) and all(known)


def _arguments(kernel_args: Any, stored: set[str] | None) -> list[Json]:
    """The kernel's arguments in call order. `stored`: the buffers that its loops write; None when
    that is not known."""
    # cpp_argdefs() also tells the wrapper to compute the sizes it meets; reading must not.
    wrapper = internals().V.graph.wrapper_code
    with mock.patch.object(wrapper, "ensure_size_computed", lambda size: None):
        definitions, values, types = kernel_args.cpp_argdefs()
    chains = {
        inplaced.inner_name: list(inplaced.other_names)
        for inplaced in kernel_args.inplace_buffers.values()
        if hasattr(inplaced, "other_names")
    }
    inputs = set(kernel_args.input_buffers.values())
    outputs = {name for name in kernel_args.output_buffers.values() if isinstance(name, str)}
    arguments = []
    for definition, value, cpp_type in zip(definitions, values, types, strict=True):
        name = definition.rsplit(None, 1)[-1].lstrip("*&")
        argument: Json = {"name": name, "use": "size", "type": cpp_type, "value": str(value)}
        if name in chains:
            # A kernel only reads a buffer whose stores code generation has left out.
            is_written = stored is None or not stored.isdisjoint(chains[name])
            argument.update(use="inout" if is_written else "in", aliases=chains[name])
        elif name in outputs:
            argument["use"] = "out"
        elif name in inputs:
            argument["use"] = "in"
        arguments.append(argument)
    return arguments


def _is_live(buffer: Any, kernel_nodes: set[str]) -> bool:
    return any(
        isinstance(user.node, internals().OutputNode) or user.get_name() not in kernel_nodes
        for user in buffer.users
        if not user.is_weak
    )


def _copy(sizes: Sizes, scheduler_node: Any, buffer: Any) -> Json | None:
    """What a buffer copies, when its loop body is one load and one store."""
    ir = internals().ir
    computed = buffer.node
    body = getattr(scheduler_node, "_body", None)
    counts = dict(getattr(body, "op_counts", {}))
    counts.pop("get_index", None)
    if counts != {"load": 1, "store": 1} or not isinstance(computed, ir.ComputedBuffer):
        return None
    if not isinstance(computed.data, ir.Pointwise):
        return None
    read_writes = computed.get_read_writes()
    reads = list(read_writes.reads)
    if len(reads) != 1 or not isinstance(reads[0], internals().MemoryDep):
        return None
    linear = _linear(reads[0].index, read_writes.range_vars)
    if linear is None:
        return None
    steps, offset = linear
    shape = [sizes.text(size) for size in computed.get_size()]
    # Dimensions of size one have no variable.
    if len(steps) != sum(size != 1 for size in shape):
        return None
    remaining = map(sizes.text, steps)
    view = {
        "dtype": dtype_name(computed.get_dtype()),
        "shape": shape,
        "strides": [1 if size == 1 else next(remaining) for size in shape],
        "offset": sizes.text(offset),
    }
    return {"source": reads[0].name, "view": view}


def _linear(index: Any, variables: list[Any]) -> tuple[list[Any], Any] | None:
    """(coefficient of each variable, constant) of a linear index expression; none is negative."""
    expanded = sympy.expand(index)
    constant = expanded.subs({variable: 0 for variable in variables})
    factors = [expanded.coeff(variable) for variable in variables]
    rest = expanded - constant - sum(f * v for f, v in zip(factors, variables, strict=True))
    is_linear = sympy.expand(rest) == 0 and not any(f.has(*variables) for f in factors)
    if not is_linear or any(_may_be_negative(number) for number in (*factors, constant)):
        return None
    return factors, constant


def _may_be_negative(number: Any) -> bool:
    if number.is_nonnegative is None:  # "s0 - 1"
        return bool(number.could_extract_minus_sign())
    return not number.is_nonnegative


def _step(facts: GraphFacts, scheduler_node: Any, kernel_nodes: set[str]) -> Json:
    read_writes = scheduler_node.read_writes
    written = {dep.name for dep in read_writes.writes}
    # Stores that code generation leaves out, since only their own loop reads the buffer.
    removed = {*facts.graph.removed_buffers, *facts.graph.inplaced_to_remove}
    writes = []
    for buffer in scheduler_node.get_outputs():
        name = buffer.get_name()
        if name not in written:
            continue
        write: Json = {
            "buffer": name,
            "real": facts.real_name(name),
            "is_live": _is_live(buffer, kernel_nodes),
            "is_stored": name not in removed,
        }
        copy = _copy(facts.sizes, scheduler_node, buffer)
        if copy is not None:
            write["copy"] = copy
        if name in facts.pieces:
            write["piece"] = facts.pieces[name]
        if name in facts.consumers:
            write["consumers"] = facts.consumers[name]
        writes.append(write)
    reads = [dep.name for dep in read_writes.reads if not isinstance(dep, internals().WeakDep)]
    return {
        "reads": [{"buffer": name, "real": facts.real_name(name)} for name in reads],
        "writes": writes,
        "origins": [node.name for node in scheduler_node.node.origins if node.name in facts.order],
        **read_loop_body(facts.sizes, scheduler_node),
    }


def read_kernel(
    facts: GraphFacts, kernel: str, scheduler_nodes: list[Any], kernel_args: Any
) -> Json:
    leaves = [leaf for node in scheduler_nodes for leaf in node.get_nodes()]
    names = {leaf.get_name() for leaf in leaves}
    steps = [_step(facts, leaf, names) for leaf in leaves]
    are_loops = all(hasattr(leaf, "_body") for leaf in leaves)  # and no template
    stored = {
        buffer
        for step in steps
        for write in step["writes"]
        if write["is_stored"]
        for buffer in (write["buffer"], write["real"])
    }
    return {
        "kernel": kernel,
        "arguments": _arguments(kernel_args, stored if are_loops else None),
        "steps": steps,
    }
