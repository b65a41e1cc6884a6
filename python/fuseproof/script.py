"""What every benchmark.py has in common. The scripts import it; programs need not.

A script brings data: an eager function, what it and the kernel are called with, and what the kernel
is built from. Comparing, building, calling and writing of tables is done in C++.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from fuseproof import _core

Json = dict[str, Any]

_SEED = 0  # of random inputs: each mode of a script, and each start, sees the same ones
_CORE = str(Path(_core.__file__).parent / "bin" / "fuseproof")


@dataclass(frozen=True)
class TensorSpec:
    """A tensor by its layout. Random ones are normally distributed; where `low` is given, they lie
    between `low` and `high`, as the recorded one did: an index, the argument of a root."""

    name: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    offset: int = 0
    low: int | float | None = None
    high: int | float | None = None

    def random(self, generator: torch.Generator, device: str) -> torch.Tensor:
        buffer = torch.empty(self._extent(), dtype=self.dtype)
        self.fill(buffer, generator)
        return buffer.to(device).as_strided(self.shape, self.stride, self.offset)

    def fill(self, tensor: torch.Tensor, generator: torch.Generator) -> None:
        tensor.copy_(self._values(tensor.shape, generator))

    def _extent(self) -> int:
        """Elements from the storage's first to the tensor's last."""
        if 0 in self.shape:
            return self.offset
        steps = zip(self.shape, self.stride, strict=True)
        return self.offset + 1 + sum((size - 1) * step for size, step in steps)

    def _values(self, shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
        if self.dtype.is_complex:
            return torch.randn(shape, dtype=torch.complex128, generator=generator)
        if not self.dtype.is_floating_point:
            return self._integers(shape, generator)
        if self.low is None or self.high is None:
            return torch.randn(shape, dtype=torch.float64, generator=generator)
        unit = torch.rand(shape, dtype=torch.float64, generator=generator)
        return self.low + (self.high - self.low) * unit

    def _integers(self, shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
        low = 0 if self.low is None else int(self.low)
        end = 2 if self.high is None else int(self.high) + 1
        largest = torch.iinfo(torch.int64).max
        if end > largest:
            low, end = min(low, largest - 1), largest
        return torch.randint(low, end, shape, generator=generator)


@dataclass(frozen=True)
class BufferSpec(TensorSpec):
    """A tensor argument of the kernel. Those with the same `storage` share their memory."""

    role: str = "in"
    storage: int = 0


@dataclass(frozen=True)
class Benchmark:
    """One kernel. A script without an eager function can only be profiled."""

    kernel: str
    device: str
    bundle: str  # the folder that the script was written for
    artifacts: Json
    call_args: list[Any]  # BufferSpec or a number
    fx_inputs: list[TensorSpec] = field(default_factory=list)
    output_names: list[str] = field(default_factory=list)
    run_eager: Callable[[Any], Any] | None = None
    run_compiled: Callable[[Any], Any] | None = None


def parse_arguments(doc: str, *, profile_only: bool = False) -> argparse.Namespace:
    """The command line of a script, whose docstring is its help."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--profile", action="store_true", help="the default")
    if not profile_only:
        mode.add_argument("--check", action="store_true")
    parser.add_argument("--e2e", action="store_true")
    parser.set_defaults(check=False)
    return parser.parse_args()


def run(benchmark: Benchmark, args: argparse.Namespace) -> int:
    """Does what the command line asks for, and returns the exit status."""
    try:
        if args.check:
            return _check(benchmark)
    except _core.Error as error:
        print(f"fuseproof: {error}", file=sys.stderr)
        return int(getattr(error, "exit_status", 3))
    return 0


def _inputs(benchmark: Benchmark) -> list[torch.Tensor]:
    """Made anew for each side, which may write into them."""
    generator = torch.Generator().manual_seed(_SEED)
    return [spec.random(generator, benchmark.device) for spec in benchmark.fx_inputs]


def _check(benchmark: Benchmark) -> int:
    assert benchmark.run_eager is not None and benchmark.run_compiled is not None
    try:
        expected = benchmark.run_eager(_inputs(benchmark))
        actual = benchmark.run_compiled(_inputs(benchmark))
        passed = compare_outputs(benchmark.output_names, expected, actual)
    except Exception as error:  # whatever is raised on either side: the check has failed
        print(f"{type(error).__name__}: {error}")
        passed = False
    return _verdict(passed)


def _verdict(passed: bool) -> int:
    print(f"Precision check {'passed' if passed else 'failed'}.")
    return 0 if passed else 1


def compare_outputs(names: Sequence[str], expected: Sequence[Any], actual: Sequence[Any]) -> bool:
    """By the criteria `cann`, with a line for each output. All have to pass."""
    if len(expected) != len(actual):
        print(f"{len(expected)} outputs were expected, and there are {len(actual)}")
        return False
    sides = zip(names, expected, actual, strict=True)
    return all([_compare(name, one, other) for name, one, other in sides])


def _compare(name: str, expected: Any, actual: Any) -> bool:
    if not isinstance(expected, torch.Tensor) and not isinstance(actual, torch.Tensor):
        print(f"output:{name} skipped: {type(expected).__name__} is no tensor")
        return True
    one, other = _packed(expected), _packed(actual)
    passed, line = _core.compare_cann(
        name,
        one.data_ptr(),
        str(one.dtype),
        list(one.shape),
        other.data_ptr(),
        str(other.dtype),
        list(other.shape),
    )
    print(line)
    return passed


def _packed(value: Any) -> torch.Tensor:
    """In row-major order and without gaps, on the CPU."""
    tensor = torch.as_tensor(value).detach()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    return tensor.cpu().resolve_conj().resolve_neg().contiguous()
