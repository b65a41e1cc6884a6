"""Time measure() against the same metrics written in PyTorch float64, interleaved in one run.

Each round runs PyTorch and then C++ on the same data, so that a slow phase of the machine hits
both. One thread each (C++ more with --threads). Prints the ratio's median, minimum and maximum:

    python bench/compare/bench_compare.py --binary build/release/bench/compare/bench_compare
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

EPSILON = torch.finfo(torch.float32).eps


def make_pair(count: int, dtype: torch.dtype, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor of normal numbers, and the same with errors of about one in a thousand."""
    torch.manual_seed(seed)
    base = torch.randn(count)
    return base.to(dtype), (base + 1e-3 * torch.randn(count)).to(dtype)


def keep_finite(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    x_finite, y_finite = torch.isfinite(x), torch.isfinite(y)
    if bool(x_finite.all()) and bool(y_finite.all()):
        return x, y
    keep = x_finite & y_finite
    return x[keep], y[keep]


def normalise(tensor: torch.Tensor) -> torch.Tensor:
    low, high = tensor.min(), tensor.max()
    span = high - low
    scaled = (tensor - low) / span if span >= EPSILON else torch.zeros_like(tensor)
    return scaled.clamp_min(EPSILON)


def torch_formula(expected: torch.Tensor, actual: torch.Tensor) -> dict[str, float]:
    """Return the metrics of the `cann` criteria as the reference describes them."""
    x, y = keep_finite(expected.to(torch.float64).flatten(), actual.to(torch.float64).flatten())
    difference = x - y
    p, q = normalise(x), normalise(y)
    p_one, q_one = p / p.sum(), q / q.sum()
    return {
        "cosine": float(((x / x.norm()) * (y / y.norm())).sum()),
        "rel_euclid": float(torch.sqrt((difference**2).sum() / (y**2).sum())),
        "kl": float((p_one * torch.log(p_one / q_one)).sum()),
        "kl_literal": float((p * torch.log(p / q)).sum()),
        "mae": float(difference.abs().mean()),
        "rmse": float(torch.sqrt((difference**2).mean())),
    }


def torch_formula_one_kl(expected: torch.Tensor, actual: torch.Tensor) -> dict[str, float]:
    """Return the same with the literal KL divergence only: less work than measure() does."""
    x, y = keep_finite(expected.to(torch.float64).flatten(), actual.to(torch.float64).flatten())
    difference = x - y
    p, q = normalise(x), normalise(y)
    return {
        "cosine": float(((x / x.norm()) * (y / y.norm())).sum()),
        "rel_euclid": float(torch.sqrt((difference**2).sum() / (y**2).sum())),
        "kl_literal": float((p * torch.log(p / q)).sum()),
        "mae": float(difference.abs().mean()),
        "rmse": float(torch.sqrt((difference**2).mean())),
    }


FORMULAS = {"both-kl": torch_formula, "literal-kl": torch_formula_one_kl}


class Program:
    """The C++ side: one process that measures whenever it is asked to."""

    def __init__(self, binary: Path, files: tuple[Path, Path], dtype: str, threads: int) -> None:
        command = [str(binary), str(files[0]), str(files[1]), dtype, str(threads)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def measure(self) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("bench_compare ended early; see its message above")
        return json.loads(line)

    def close(self) -> None:
        self._process.communicate()


def write_raw(tensor: torch.Tensor, path: Path) -> Path:
    tensor.view(torch.uint8).numpy().tofile(path)
    return path


def bench(arguments: argparse.Namespace) -> dict[str, Any]:
    torch.set_num_threads(1)
    dtype = getattr(torch, arguments.dtype)
    formula = FORMULAS[arguments.formula]
    expected, actual = make_pair(arguments.count, dtype, seed=0)
    torch_ns, cpp_ns = [], []
    with tempfile.TemporaryDirectory() as folder:
        files = (
            write_raw(expected, Path(folder) / "expected"),
            write_raw(actual, Path(folder) / "actual"),
        )
        program = Program(arguments.binary, files, arguments.dtype, arguments.threads)
        program.measure()  # the first run pays for the pages
        for _ in range(arguments.rounds):
            begin = time.perf_counter_ns()
            reference = formula(expected, actual)
            torch_ns.append(time.perf_counter_ns() - begin)
            numbers = program.measure()
            cpp_ns.append(int(numbers["time_ns"]))
        program.close()
    ratios = [slow / fast for slow, fast in zip(torch_ns, cpp_ns, strict=True)]
    return {
        "count": arguments.count,
        "dtype": arguments.dtype,
        "threads": arguments.threads,
        "formula": arguments.formula,
        "rounds": arguments.rounds,
        "ratio": {
            "median": statistics.median(ratios),
            "min": min(ratios),
            "max": max(ratios),
        },
        "torch_ns": torch_ns,
        "cpp_ns": cpp_ns,
        "relative_difference": {
            name: abs(numbers[name] - value) / max(abs(value), math.ulp(0.0))
            for name, value in reference.items()
        },
    }


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, required=True, help="path of bench_compare")
    parser.add_argument("--count", type=int, default=1 << 24, help="number of elements")
    parser.add_argument(
        "--dtype", choices=["float32", "bfloat16", "float16", "float64"], default="float32"
    )
    parser.add_argument("--threads", type=int, default=1, help="of the C++ side")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--formula", choices=sorted(FORMULAS), default="both-kl", help="what PyTorch computes"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    arguments = parse(argv)
    result = bench(arguments)
    if arguments.json:
        print(json.dumps(result))
        return 0
    ratio = result["ratio"]
    torch_ms = statistics.median(result["torch_ns"]) / 1e6
    cpp_ms = statistics.median(result["cpp_ns"]) / 1e6
    print(
        f"measure, {result['count']} {result['dtype']}, {result['rounds']} rounds: "
        f"PyTorch {torch_ms:.1f} ms (1 thread), C++ {cpp_ms:.2f} ms ({result['threads']})"
    )
    print(f"ratio: median {ratio['median']:.1f}, min {ratio['min']:.1f}, max {ratio['max']:.1f}")
    print(
        "relative difference: "
        + ", ".join(f"{name} {value:.1e}" for name, value in result["relative_difference"].items())
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
