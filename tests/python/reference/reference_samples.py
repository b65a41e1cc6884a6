"""Tensors that several tests use."""

import torch


def randn(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(17 + sum(shape))
    return torch.randn(shape, generator=generator).to(dtype)


X = randn(5, 7)
IMAGE = randn(2, 3, 8, 8)
BFLOAT = randn(6, 33, dtype=torch.bfloat16)
INTS = torch.tensor([[3, -7, 11], [0, 5, -2]])
