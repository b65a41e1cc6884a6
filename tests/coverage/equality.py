"""Whether Fuseproof's reference computes what torch's own `aot_eager` does, bit by bit.

    equality.py ENTRY

Compiles one entry by the backend `aot_eager` in this process, runs the first calls of each of its
graphs by the reference, too, and prints what differed as one line of JSON. Both get the same
inputs: their storages, aliasing and address modulo 64, the state of torch's generator, threads and
floating-point mode.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import operator
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import entries
import torch
from fuseproof import _core
from fuseproof._calls import CallWriter
from fuseproof._lowering import read_nodes
from fuseproof._sizes import Sizes, SymbolPlace, place_of_number, places_in, symbol_values
from torch._dynamo.backends.debugging import aot_eager, boxed_nop
from torch._guards import detect_fake_mode
from torch._inductor.sizevars import SizeVarAllocator

# Of each graph. The second call of a training step meets what the first one left behind.
CALLS = 2
PROCESS = "process_0"

Json = dict[str, Any]
GraphCall = Callable[[list[Any]], Sequence[Any]]


# --- Comparing ------------------------------------------------------------------------------------


def content_of(tensor: torch.Tensor) -> bytes:
    """The bits of its elements, NaNs' included, without the gaps between them."""
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return plain.reshape(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""


def tensor_of(content: bytes, layout: Json) -> torch.Tensor:
    dtype = getattr(torch, layout["dtype"])
    if not content:
        return torch.empty_strided(layout["shape"], layout["strides"], dtype=dtype)
    whole = torch.frombuffer(bytearray(content), dtype=dtype)
    return whole.as_strided(layout["shape"], layout["strides"])


def difference(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """What is not equal; empty when everything is."""
    for what in ("dtype", "shape"):
        if getattr(actual, what) != getattr(expected, what):
            return f"{what} {getattr(actual, what)} instead of {getattr(expected, what)}"
    if actual.stride() != expected.stride():
        return f"strides {actual.stride()} instead of {expected.stride()}"
    ours, theirs = content_of(actual), content_of(expected)
    if ours == theirs:
        return ""
    width = expected.element_size()
    pairs = zip(range(0, len(ours), width), range(0, len(theirs), width), strict=True)
    count = sum(ours[a : a + width] != theirs[b : b + width] for a, b in pairs)
    return f"{count} of {expected.numel()} elements have other bits"


# --- Graphs ---------------------------------------------------------------------------------------


class Graph:
    """One graph of AOTAutograd's, written into the run."""

    def __init__(self, module: torch.fx.GraphModule, inputs: Sequence[Any], name: str) -> None:
        self.name = name
        self.calls = 0
        constants = {
            node.name: value
            for node in module.graph.nodes
            if node.op == "get_attr"
            and isinstance(value := operator.attrgetter(node.target)(module), torch.Tensor)
        }
        self.constants = list(constants.values())
        fake_mode = detect_fake_mode(inputs)
        sizes = Sizes(SizeVarAllocator(fake_mode.shape_env if fake_mode else None))
        read = read_nodes(module.graph, constants, sizes)
        # Nothing lowers it.
        self.document = {**read, "external_nodes": [], "locations": [], "buffers": {}}
        self.nodes: list[Json] = read["graph"]["nodes"]
        self._places = list(self._symbol_places())

    def _symbol_places(self) -> Iterator[SymbolPlace]:
        inputs = [node for node in self.nodes if node["kind"] == "placeholder"]
        for position, node in enumerate(inputs):
            if "number" in node:
                yield from place_of_number(position, node["number"]["symbol"])
        for position, node in enumerate(inputs):
            for layout in filter(None, node["values"]):
                yield from places_in(position, layout)

    def symbols(self, args: Sequence[Any]) -> dict[str, int | float]:
        return symbol_values(self._places, args)

    def target_of(self, name: str) -> str:
        """Of the call that computes a node: of the tuple's, where it is an element of one."""
        node = next(node for node in self.nodes if node["name"] == name)
        if node.get("target") == "getitem":
            return self.target_of(node["arguments"][0]["node"])
        return str(node.get("target", node["kind"]))

    def named_in(self, message: str) -> str:
        """The target of the node that an error of the reference names."""
        _, _, rest = message.partition("node `")
        name = rest.partition("`")[0]
        is_known = any(node["name"] == name for node in self.nodes)
        return self.target_of(name) if is_known else ""


class Comparison:
    """A backend for torch.compile: that of `aot_eager`, whose graphs it also has the reference
    run. `graphs`: of each what was found."""

    def __init__(self, run: Path) -> None:
        self.graphs: list[Json] = []
        self._run = run
        self._writer = _core.RunWriter(str(run), PROCESS, "", "", "{}")
        self._call_writer = CallWriter(self._writer, "real")
        program = Path(_core.__file__).parent / "bin" / "fuseproof"
        self._reference = _core.GraphReference(str(program), sys.executable, [])

    def __call__(self, module: torch.fx.GraphModule, inputs: list[Any], **options: Any) -> Any:
        compilers = {
            "fw_compiler": partial(self._observed, "forward"),
            "bw_compiler": partial(self._observed, "backward"),
        }
        return aot_eager(module, inputs, **compilers, **options)

    def _observed(
        self, kind: str, module: torch.fx.GraphModule, inputs: Sequence[Any]
    ) -> GraphCall:
        graph = Graph(module, inputs, str(len(self.graphs)))
        found = {"graph": graph.name, "kind": kind, "nodes": len(graph.nodes), "calls": 0}
        self.graphs.append({**found, "differences": [], "python_nodes": []})
        self._writer.write_graph(graph.name, "graph", json.dumps(graph.document))
        eager = boxed_nop(module, inputs)

        def observed(args: list[Any]) -> Sequence[Any]:
            if graph.calls == CALLS:
                return eager(args)
            return self._compared(graph, eager, args)

        observed._boxed_call = True
        return observed

    def _compared(self, graph: Graph, eager: GraphCall, args: list[Any]) -> Sequence[Any]:
        given = [*args, *graph.constants]
        found = self.graphs[int(graph.name)]
        index = graph.calls
        graph.calls += 1
        before = [content_of(arg) if isinstance(arg, torch.Tensor) else b"" for arg in given]
        self._call_writer.write_graph_call(graph.name, given, index, graph.symbols(args))
        results = eager(args)
        found["calls"] += 1
        try:
            text, contents = self._reference.run(str(self._run), PROCESS, graph.name, index)
        except _core.Error as error:
            found["differences"].append(self._refusal(graph, str(error)))
            return results
        answer = json.loads(text)
        found["python_nodes"] = [node["target"] for node in answer["python_nodes"]]
        if answer["exception"]:
            found["differences"].append(self._refusal(graph, answer["exception"]))
            return results
        found["differences"] += list(self._differences(graph, answer, contents, given, results))
        found["differences"] += self._undeclared(answer, given, before)
        return results

    @staticmethod
    def _refusal(graph: Graph, message: str) -> Json:
        return {"node": "", "target": graph.named_in(message), "reason": message}

    @staticmethod
    def _differences(
        graph: Graph, answer: Json, contents: list[bytes], given: list[Any], results: Sequence[Any]
    ) -> Iterator[Json]:
        """Of the results, in order, and then of the inputs that the graph writes into."""
        expected = [*results, *(given[o["argument"]] for o in answer["outputs"][len(results) :])]
        remaining = iter(contents)
        for output, value in zip(answer["outputs"], expected, strict=True):
            if "node" not in output:
                if isinstance(value, torch.Tensor):
                    yield {"node": output["buffer"], "target": "", "reason": output["reason"]}
                continue
            actual = tensor_of(next(remaining), output["layout"])
            if reason := difference(actual, value):
                target = graph.target_of(output["node"])
                yield {"node": output["node"], "target": target, "reason": reason}

    @staticmethod
    def _undeclared(answer: Json, given: list[Any], before: list[bytes]) -> list[Json]:
        """Inputs that came back changed and are no outputs: nothing compared them."""
        written = {output["argument"] for output in answer["outputs"]}
        return [
            {"node": "", "target": "", "reason": f"argument {index} is written unannounced"}
            for index, (value, content) in enumerate(zip(given, before, strict=True))
            if index not in written
            and isinstance(value, torch.Tensor)
            and content_of(value) != content
        ]


@contextlib.contextmanager
def compared_with_aot_eager(run: Path) -> Iterator[list[Json]]:
    """Within it, torch.compile compiles by `aot_eager`, and the list says what was found of each
    graph. `run`: the folder for the graphs and their inputs."""
    comparison = Comparison(run)
    with patch.object(torch, "compile", partial(torch.compile, backend=comparison)):
        yield comparison.graphs


def equal(graphs: Iterable[Json]) -> list[Json]:
    return [graph for graph in graphs if graph["calls"] and not graph["differences"]]


def measure(entry: entries.Entry) -> Json:
    torch.manual_seed(0)
    program = entry.make()
    error = ""
    torch.manual_seed(1)
    with (
        tempfile.TemporaryDirectory(prefix="fuseproof_equality_") as folder,
        compared_with_aot_eager(Path(folder) / "run") as graphs,
    ):
        try:
            program()
        except Exception:
            error = traceback.format_exc()
    return {"graphs": graphs, "error": error}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("entry")
    args = parser.parse_args()
    with contextlib.redirect_stdout(sys.stderr):
        result = measure(entries.all_entries()[args.entry])
    print(json.dumps(result))


if __name__ == "__main__":
    main()
