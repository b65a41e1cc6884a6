"""Runs single nodes for the reference: operators that are registered from Python alone.

Started by the reference; src/reference/python/python_worker.h describes the messages. Here torch's
operators are looked up and called, and tensors read; nothing is decided.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import functools
import importlib
import json
import signal
from collections.abc import Callable
from typing import Any

import torch

from fuseproof._core import NodeChannel
from fuseproof._lowering import Unserializable, number_or_constant, tensor_layout
from fuseproof._torch_hooks import register_operators

Json = dict[str, Any]


class Refusal(Exception):
    """Why a node cannot be run here."""


# --- Operators ------------------------------------------------------------------------------------


def import_modules(names: list[str]) -> list[str]:
    """Imports the user's modules; returns what went wrong."""
    problems = []
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:
            problems.append(f"--import {name}: {type(error).__name__}: {error}")
    return problems


def find_operator(target: str, problems: list[str]) -> torch._ops.OpOverload:
    namespace, _, rest = target.partition(".")
    name, _, overload = rest.partition(".")
    register_operators(namespace)
    found: Any = None
    with contextlib.suppress(AttributeError, RuntimeError):
        found = getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")
    if isinstance(found, torch._ops.OpOverload):
        return found
    # "python:" is what capture puts before the name of what is no operator (_lowering.py).
    if namespace == "higher_order" or target.startswith("python:torch.ops.higher_order."):
        raise Refusal("a higher-order operator calls sub-graphs, which are not part of the record")
    if target.startswith("python:"):
        raise Refusal("it is a function of Python's, and no operator")
    if problems:
        raise Refusal("no imported module registers it: " + "; ".join(problems))
    raise Refusal(
        "torch does not register it. If a module of yours does, name it with --import MODULE "
        '(fuseproof.check(run, imports=["MODULE"]) in Python): its code is then run, and found as '
        "Python finds it, in what is installed and on PYTHONPATH"
    )


def describe(operator: torch._ops.OpOverload) -> Json:
    draws = torch.Tag.nondeterministic_seeded in operator.tags
    return {
        "reply": "operator",
        "schema": str(operator._schema),
        "draws_random_numbers": draws,
    }


# --- Values ---------------------------------------------------------------------------------------


class Memory:
    """What the arguments of a call lie in, and what its results do."""

    def __init__(self, places: list[tuple[int, int]]) -> None:
        self._arguments = [self._map(address, size) for address, size in places]
        self._index = {place[0]: index for index, place in enumerate(places) if place[1]}
        self._results: list[torch.UntypedStorage] = []

    @staticmethod
    def _map(address: int, size: int) -> torch.UntypedStorage:
        if size == 0:
            return torch.UntypedStorage(0)  # type: ignore[no-untyped-call]
        memory = (ctypes.c_char * size).from_address(address)
        return torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()

    def tensor(self, value: Json) -> torch.Tensor:
        layout = value["layout"]
        tensor = torch.empty(0, dtype=getattr(torch, layout["dtype"]))
        storage: Any = self._arguments[value["storage"]]
        return tensor.set_(storage, layout["offset"], layout["shape"], layout["strides"])

    def write(self, tensor: torch.Tensor) -> Json:
        plain = tensor.detach().resolve_conj().resolve_neg()
        layout = tensor_layout(plain) if plain.device.type == "cpu" else None
        if layout is None:
            raise Refusal(f"its result is a {plain.layout} {plain.dtype} tensor on {plain.device}")
        storage = plain.untyped_storage()
        index = self._index.get(storage.data_ptr())
        if index is not None:
            return {"storage": index, "of_arguments": True, "layout": layout}
        self._results.append(storage)
        return {"storage": len(self._results) - 1, "layout": layout}

    def results(self) -> list[tuple[int, int]]:
        return [(storage.data_ptr(), storage.nbytes()) for storage in self._results]


# Of the other kinds (dtype, layout, memory_format), `content` is an attribute of torch.
_CONSTANTS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "complex": lambda parts: complex(*map(float, parts)),
    "device": torch.device,
}


def read_value(value: Any, memory: Memory) -> Any:
    """The inverse of `argument` in _lowering.py, and a tensor."""
    if isinstance(value, list):
        return [read_value(element, memory) for element in value]
    if not isinstance(value, dict):
        return value
    if "storage" in value:
        return memory.tensor(value)
    ((kind, content),) = value.items()
    return _CONSTANTS.get(kind, functools.partial(getattr, torch))(content)


def write_value(value: Any, memory: Memory) -> Any:
    if isinstance(value, torch.Tensor):
        return memory.write(value)
    if isinstance(value, (list, tuple)):
        return [write_value(element, memory) for element in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    try:
        return number_or_constant(value)
    except Unserializable as problem:
        raise Refusal(f"its result is {problem}") from None


# --- Calls ----------------------------------------------------------------------------------------


def set_state(state: Json, generator: torch.Tensor) -> None:
    if torch.get_num_threads() != state["threads"]:
        torch.set_num_threads(state["threads"])
    torch.set_flush_denormal(state["flushes_denormals"])
    torch.set_grad_enabled(state["grad_mode"])
    torch.set_default_dtype(getattr(torch, state["default_dtype"]))
    for op, precision in state["float32_precision"].items():
        getattr(torch.backends.mkldnn, op).fp32_precision = precision
    torch.set_rng_state(generator)


def run(operator: torch._ops.OpOverload, request: Json, memory: Memory) -> list[Any]:
    """The results, one for each that the schema names."""
    positional, keywords = [], {}
    for parameter, value in zip(operator._schema.arguments, request["arguments"], strict=True):
        if parameter.kwarg_only:
            keywords[parameter.name] = read_value(value, memory)
        else:
            positional.append(read_value(value, memory))
    results = operator(*positional, **keywords)
    count = len(operator._schema.returns)
    return [results] if count == 1 else list(results or ())


def raised(error: Exception) -> Json:
    # Exhaustion in the words of torch's allocator, by which the reference knows it.
    prefix = "can't allocate memory: " if isinstance(error, MemoryError) else ""
    is_unimplemented = isinstance(error, NotImplementedError)
    return {"reply": "raised", "message": prefix + str(error), "is_unimplemented": is_unimplemented}


def call(channel: NodeChannel, request: Json, problems: list[str]) -> None:
    memory = Memory(channel.storages())
    operator = find_operator(request["target"], problems)
    generator = memory.tensor(request["state"]["generator"])
    set_state(request["state"], generator)
    try:
        results = run(operator, request, memory)
    except Exception as error:
        channel.send(json.dumps(raised(error)))
        return
    generator.copy_(torch.get_rng_state())
    values = [write_value(value, memory) for value in results]
    body = json.dumps({"reply": "results", "results": values})
    channel.send_results(body, memory.results())


def serve(channel: NodeChannel, problems: list[str]) -> None:
    while (text := channel.receive()) is not None:
        request = json.loads(text)
        try:
            if request["request"] == "describe":
                channel.send(json.dumps(describe(find_operator(request["target"], problems))))
            else:
                call(channel, request, problems)
        except Refusal as refusal:
            channel.send(json.dumps({"reply": "refused", "message": str(refusal)}))


def main() -> None:
    parser = argparse.ArgumentParser(description="Started by Fuseproof's reference.")
    parser.add_argument("--channel", type=int, required=True)
    parser.add_argument("--import", dest="imports", action="append", default=[])
    options = parser.parse_args()
    # Ctrl-C in a terminal reaches the whole process group; whoever asked decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(NodeChannel(options.channel), import_modules(options.imports))


if __name__ == "__main__":
    main()
