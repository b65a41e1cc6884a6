"""What every benchmark.py has in common. The scripts import it; programs need not.

A script brings data: an eager function, what it and the kernel are called with, and what the kernel
is built from. Outputs are compared in C++.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from fuseproof import _core

_SEED = 0  # of random inputs: both sides, and each start, see the same ones
_NOTHING_CHECKED = 3  # exit status, as of the command line


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
    storage: int | None = None  # tensors that share memory have the same

    def bytes_of_storage(self) -> int:
        """From the storage's first element to the tensor's last."""
        if 0 in self.shape:
            return self.offset * self.dtype.itemsize
        steps = zip(self.shape, self.stride, strict=True)
        last = self.offset + sum((size - 1) * step for size, step in steps)
        return (last + 1) * self.dtype.itemsize

    def fill(self, size_bytes: int, generator: torch.Generator, device: str) -> torch.Tensor:
        """A storage's content, of at least so many bytes."""
        count = -(-size_bytes // self.dtype.itemsize)
        return self._values((count,), generator).to(self.dtype).to(device)

    def within(self, content: torch.Tensor) -> torch.Tensor:
        tensor = torch.empty(0, dtype=self.dtype, device=content.device)
        storage = content.untyped_storage()
        return tensor.set_(storage, self.offset, self.shape, self.stride)

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
    """A tensor argument of the kernel."""

    role: str = "in"


def random_tensors(specs: Sequence[TensorSpec], device: str) -> list[torch.Tensor]:
    """The same ones at each call. What tensors share, the first of them fills."""
    generator = torch.Generator().manual_seed(_SEED)
    contents: dict[int, torch.Tensor] = {}
    tensors = []
    for spec in specs:
        if spec.storage is None:
            content = spec.fill(spec.bytes_of_storage(), generator, device)
        else:
            if spec.storage not in contents:
                sizes = [s.bytes_of_storage() for s in specs if s.storage == spec.storage]
                contents[spec.storage] = spec.fill(max(sizes), generator, device)
            content = contents[spec.storage]
        tensors.append(spec.within(content))
    return tensors


@dataclass(frozen=True)
class Fragment:
    """What a kernel computes, in eager mode and compiled anew."""

    device: str
    inputs: list[TensorSpec]
    output_names: list[str]
    run_eager: Callable[[Any], Any]
    run_compiled: Callable[[Any], Any]


def parse_arguments(doc: str) -> argparse.Namespace:
    """The command line of a script, whose docstring is its help."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", required=True, help="see above")
    return parser.parse_args()


def nothing_to_check(reason: str) -> int:
    """Of a script without an eager function. Returns the exit status."""
    print(f"fuseproof: there is no eager function to check: {reason}", file=sys.stderr)
    return _NOTHING_CHECKED


def check(fragment: Fragment) -> int:
    """Compares the two sides, and returns the exit status. What either raises fails the check."""
    side = "eager_fn"
    try:
        # Made anew for each side, which may write into them.
        expected = fragment.run_eager(random_tensors(fragment.inputs, fragment.device))
        side = "torch.compile(eager_fn)"
        actual = fragment.run_compiled(random_tensors(fragment.inputs, fragment.device))
        side = "the comparison"
        passed = compare_outputs(fragment.output_names, expected, actual)
    except Exception as error:
        print(f"{side} raised {type(error).__name__}: {str(error).strip()}")
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
