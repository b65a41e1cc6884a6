"""Runs single nodes for the reference: operators that are registered from Python alone.

Started by the reference; src/reference/python/python_worker.h describes the messages. Here torch's
operators are looked up and called, and tensors read; nothing is decided.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib
import json
import signal
from functools import partial
from typing import Any

import torch

from fuseproof._core import NodeChannel
from fuseproof._lowering import Unserializable, number_or_constant, tensor_layout
from fuseproof._subgraphs import SubgraphCall
from fuseproof._torch_hooks import register_operators
from fuseproof._values import Refusal, read_value

Json = dict[str, Any]
Callee = torch._ops.OpOverload | SubgraphCall


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
    if target.startswith("python:"):
        raise Refusal("it is a function of Python's, and no operator")
    if problems:
        raise Refusal("no imported module registers it: " + "; ".join(problems))
    raise Refusal(
        "torch does not register it. If a module of yours does, name it with --import MODULE "
        '(fuseproof.check(run, imports=["MODULE"]) in Python): its code is then run, and found as '
        "Python finds it, in what is installed and on PYTHONPATH"
    )


def find_callee(request: Json, problems: list[str]) -> Callee:
    find = partial(find_operator, problems=problems)
    if "subgraph_call" in request:
        return SubgraphCall(request["target"], request["subgraph_call"], find)
    return find(request["target"])


def describe(callee: Callee) -> Json:
    if isinstance(callee, SubgraphCall):
        return callee.describe()
    draws = torch.Tag.nondeterministic_seeded in callee.tags
    return {
        "reply": "operator",
        "schema": str(callee._schema),
        "draws_random_numbers": draws,
    }


# --- Values ---------------------------------------------------------------------------------------


class Memory:
    """What the arguments of a call lie in, and what its results do."""

    def __init__(self, places: list[tuple[int, int]]) -> None:
        self._arguments = [self._map(address, size) for address, size in places]
        self._index = {place[0]: index for index, place in enumerate(places) if place[1]}
        self._results: list[torch.UntypedStorage] = []
        self.references = {"storage": self.tensor}

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


def run(callee: Callee, request: Json, memory: Memory) -> list[Any]:
    """The results, one for each that the schema names."""
    if isinstance(callee, SubgraphCall):
        return [callee.run(list(read_value(request["arguments"], memory.references)))]
    positional, keywords = [], {}
    for parameter, value in zip(callee._schema.arguments, request["arguments"], strict=True):
        if parameter.kwarg_only:
            keywords[parameter.name] = read_value(value, memory.references)
        else:
            positional.append(read_value(value, memory.references))
    results = callee(*positional, **keywords)
    count = len(callee._schema.returns)
    return [results] if count == 1 else list(results or ())


def raised(error: Exception) -> Json:
    # Exhaustion in the words of torch's allocator, by which the reference knows it.
    prefix = "can't allocate memory: " if isinstance(error, MemoryError) else ""
    is_unimplemented = isinstance(error, NotImplementedError)
    return {"reply": "raised", "message": prefix + str(error), "is_unimplemented": is_unimplemented}


def call(channel: NodeChannel, request: Json, problems: list[str]) -> None:
    memory = Memory(channel.storages())
    callee = find_callee(request, problems)
    generator = memory.tensor(request["state"]["generator"])
    set_state(request["state"], generator)
    try:
        results = run(callee, request, memory)
    except Refusal:
        raise
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
                channel.send(json.dumps(describe(find_callee(request, problems))))
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
