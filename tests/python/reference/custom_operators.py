"""Operators of a user's, registered from Python. Imported by the Python worker, and by tests."""

import os
import signal

import numpy
import torch
from torch import Tensor


@torch.library.custom_op("fuseproof_test::scaled_sine", mutates_args=())
def scaled_sine(x: Tensor, factor: float = 1.0) -> Tensor:
    return torch.from_numpy(numpy.sin(x.numpy()) * factor).to(x.dtype)


@torch.library.custom_op("fuseproof_test::single_sine", mutates_args=())
def single_sine(x: Tensor) -> Tensor:
    return torch.from_numpy(numpy.sin(x.numpy().astype(numpy.float32)))


@torch.library.custom_op("fuseproof_test::accumulate", mutates_args={"into"})
def accumulate(into: Tensor, rows: list[Tensor], *, weight: float | None = None) -> None:
    for row in rows:
        into += row * (2.0 if weight is None else weight)


@torch.library.custom_op("fuseproof_test::add_noise", mutates_args=())
def add_noise(x: Tensor) -> Tensor:
    return x + torch.rand_like(x)


@torch.library.custom_op("fuseproof_test::refuse", mutates_args=())
def refuse(x: Tensor) -> Tensor:
    raise ValueError("negative values are not mine")


@torch.library.custom_op("fuseproof_test::die", mutates_args=())
def die(x: Tensor) -> Tensor:
    os.kill(os.getpid(), signal.SIGKILL)
    return x


LIBRARY = torch.library.Library("fuseproof_test", "FRAGMENT")
LIBRARY.define(
    "describe(Tensor(a) x, ScalarType dtype, int[] dims) -> (Tensor(a), Tensor[], float)"
)


@torch.library.impl(LIBRARY, "describe", "CPU")
def describe(x, dtype, dims):
    return x.t(), [x.to(dtype), x.sum(dims)], float("inf")
