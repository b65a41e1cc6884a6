"""Time a graph of 200 small operators: the C++ reference against torch.fx.Interpreter.

Each round runs torch.fx.Interpreter and then the reference on the same graph, so that a slow phase
of the machine hits both; starting the processes is left out. One thread each. Two ratios: of the
interpreter alone (tensors in, tensors out, as torch.fx.Interpreter has it), and of a whole request
(inputs mapped copy-on-write, outputs copied to shared memory). Prints median, minimum and maximum:

    python bench/reference/bench_reference.py --binary build/release/bin/bench_reference
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

ELEMENTS = 64
CYCLES = 40  # of five operators
TARGET_RATIO = 5.0


def make_graph() -> torch.fx.GraphModule:
    aten = torch.ops.aten
    graph = torch.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    value, total = x, y
    for _ in range(CYCLES):
        value = graph.call_function(aten.add.Tensor, (value, total))
        value = graph.call_function(aten.mul.Tensor, (value, y))
        value = graph.call_function(aten.relu.default, (value,))
        value = graph.call_function(aten.sigmoid.default, (value,))
        total = graph.call_function(aten.sum.default, (value,))
    graph.output(total)
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def fragment_document(graph: torch.fx.Graph) -> dict:
    """The graph as Fuseproof's fragment, with x and y as its inputs."""
    nodes = []
    for node in graph.nodes:
        if node.op == "output":
            continue
        document = {"name": node.name, "kind": "placeholder", "values": []}
        if node.op == "call_function":
            arguments = [{"node": argument.name} for argument in node.args]
            document |= {
                "kind": "call",
                "target": str(node.target),
                "arguments": arguments,
                "keywords": {},
            }
        nodes.append(document)
    output = {
        "argument": 2,
        "buffer": "buf0",
        "source": "fx",
        "node": nodes[-1]["name"],
        "is_live": True,
    }
    inputs = [{"node": name, "argument": index} for index, name in enumerate("xy")]
    return {"graph": {"nodes": nodes}, "inputs": inputs, "outputs": [output]}


def interpreter_ns(module: torch.fx.GraphModule, repeats: int) -> float:
    values = [0.01 * torch.arange(1, ELEMENTS + 1, dtype=torch.float32) for _ in range(2)]
    interpreter = torch.fx.Interpreter(module)
    with torch.no_grad():
        begin = time.perf_counter_ns()
        for _ in range(repeats):
            interpreter.run(*values)
        return (time.perf_counter_ns() - begin) / repeats


class Reference:
    """The benchmark program, waiting for numbers of runs."""

    def __init__(self, binary: Path, fragment: Path):
        self.process = subprocess.Popen(
            [binary, fragment], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def times_ns(self, repeats: int) -> tuple[float, float]:
        self.process.stdin.write(f"{repeats}\n")
        self.process.stdin.flush()
        alone, request = self.process.stdout.readline().split()
        return float(alone), float(request)

    def close(self) -> None:
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit("bench_reference failed")


def measure(binary: Path, rounds: int, repeats: int) -> list[dict[str, float]]:
    module = make_graph()
    with tempfile.TemporaryDirectory() as folder:
        fragment = Path(folder) / "fragment.json"
        fragment.write_text(json.dumps(fragment_document(module.graph)))
        reference = Reference(binary, fragment)
        interpreter_ns(module, repeats)  # warm-up of both sides
        reference.times_ns(repeats)
        samples = []
        for _ in range(rounds):
            python = interpreter_ns(module, repeats)
            alone, request = reference.times_ns(repeats)
            samples.append(
                {"fx_interpreter_ns": python, "reference_ns": alone, "request_ns": request}
            )
        reference.close()
    return samples


def summary(ratios: list[float]) -> dict[str, float]:
    return {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", type=Path, required=True, help="the program bench_reference")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--repeats", type=int, default=40, help="runs of the graph in a round")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    options = parser.parse_args()
    torch.set_num_threads(1)
    samples = measure(options.binary, options.rounds, options.repeats)
    document = {
        "benchmark": "reference run, 200 small operators, against torch.fx.Interpreter",
        "target_ratio": TARGET_RATIO,
        "ratio": summary([s["fx_interpreter_ns"] / s["reference_ns"] for s in samples]),
        "request_ratio": summary([s["fx_interpreter_ns"] / s["request_ns"] for s in samples]),
        "samples": samples,
    }
    if options.json:
        print(json.dumps(document, indent=1))
        return 0
    for name, label in (("ratio", "interpreter alone"), ("request_ratio", "whole request")):
        ratio = document[name]
        print(
            f"{label}: {ratio['median']:.1f}x faster than torch.fx.Interpreter "
            f"(min {ratio['min']:.1f}, max {ratio['max']:.1f}; target {TARGET_RATIO:.0f}x)"
        )
    for name in samples[0]:
        print(f"  {name}: median {statistics.median(s[name] for s in samples) / 1000:.1f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
