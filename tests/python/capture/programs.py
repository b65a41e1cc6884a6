"""Small programs whose kernels a capture must recover. Each is a function without arguments that
returns (function to compile, its arguments)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

Program = Callable[[], tuple[Callable[..., Any], list[Any]]]
PROGRAMS: dict[str, Program] = {}


def program(make: Program) -> Program:
    PROGRAMS[make.__name__] = make
    return make


@program
def pointwise():
    return lambda x, y: torch.relu(x + y) * y.sigmoid(), [torch.randn(64, 33), torch.randn(33)]


@program
def softmax():
    return lambda x: x.softmax(-1), [torch.randn(16, 40)]


@program
def layer_norm():
    return lambda x: F.layer_norm(x.softmax(-1), (40,)), [torch.randn(16, 40)]


@program
def views():
    def f(x):
        return (x.transpose(0, 1).reshape(4, -1) + 1).permute(1, 0)[::2].cos()

    return f, [torch.randn(16, 40)]


@program
def strided_input():
    return lambda x, y: (x * 2 + y).sum(0), [torch.randn(40, 16).t(), torch.randn(1, 40)]


@program
def mutation():
    def f(x, y):
        x.add_(y)
        z = y * x
        x.mul_(2)
        return z + 1

    return f, [torch.randn(16, 40), torch.randn(16, 40)]


@program
def slice_mutation():
    def f(x):
        y = x + 1
        y[2:5] = x[0:3] * 3
        y[:, 1] += 2
        return y.relu(), x.clone()

    return f, [torch.randn(16, 8)]


@program
def cache_update():
    def f(cache, new, scale):
        cache[:, 3:5] = new * scale
        return (cache * 2).sum(1)

    return f, [torch.randn(4, 8, 6), torch.randn(4, 2, 6), torch.randn(6)]


@program
def index_put():
    def f(x, i, v):
        z = x * 2
        z.index_put_((i,), v, accumulate=True)
        return z.sin()

    return f, [torch.randn(16, 8), torch.tensor([0, 3, 3, 1]), torch.randn(4, 8)]


@program
def index_put_on_input():
    def f(x, i, v):
        x.index_put_((i,), v.cos())
        return x + 1

    return f, [torch.randn(16, 8), torch.tensor([0, 3, 5, 1]), torch.randn(4, 8)]


@program
def scatter():
    def f(x, i, v):
        return torch.scatter_add(x + 1, 0, i, v).exp(), x.index_add(0, i[:, 0], v)

    return f, [torch.randn(16, 8), torch.randint(0, 16, (5, 8)), torch.randn(5, 8)]


@program
def cat_and_pad():
    def f(x, y):
        return F.pad(torch.cat([x.sin(), y.cos()], 1), (1, 2)).sum(1)

    return f, [torch.randn(16, 8), torch.randn(16, 5)]


@program
def cat_with_a_copied_piece():
    def f(x, y):
        return torch.cat([x.sin() + 1, y.cos(), x], 1), y.sum()

    return f, [torch.randn(16, 8), torch.randn(16, 5)]


@program
def embedding_and_constants():
    c = torch.randn(8)

    def f(i, w):
        return F.embedding(i, w) + c + torch.arange(8) + torch.tensor([1.0, 2, 3, 4, 5, 6, 7, 8])

    return f, [torch.randint(0, 10, (4, 3)), torch.randn(10, 8)]


@program
def reductions():
    def f(x):
        return x.var(1), x.cumsum(1), x.argmax(1), x.std(0), x.prod(1), x.amax()

    return f, [torch.randn(16, 40)]


@program
def large_reduction():
    return lambda x: (x * x).sum() + x.max(), [torch.randn(600, 700)]


@program
def integers_and_bools():
    def f(a, b):
        return ((a // b) + (a % b) * (a > b)).where(a != 0, b), (a > b).any(), a.bool()

    return f, [torch.randint(-50, 50, (64,)), torch.randint(1, 9, (64,))]


@program
def bfloat16():
    def f(x, w):
        return F.silu(x @ w).float().softmax(-1).bfloat16()

    return f, [torch.randn(16, 32).bfloat16(), (torch.randn(32, 24) / 32).bfloat16()]


@program
def max_pool_and_upsample():
    def f(x):
        y = F.max_pool2d(x.relu(), 2)
        return F.interpolate(y, scale_factor=2, mode="bilinear").tanh()

    return f, [torch.randn(2, 3, 16, 16)]


@program
def equal_sources():
    def f(x, y, w):
        return torch.relu(torch.relu(x @ w + y) @ w + y) @ w

    return f, [torch.randn(8, 16), torch.randn(16), torch.randn(16, 16)]


@program
def matmul_with_epilogue():
    def f(x, w, b):
        return F.gelu(x @ w + b) * 2, (x + 1).t()

    return f, [torch.randn(8, 32), torch.randn(32, 24), torch.randn(24)]


@program
def attention():
    def f(x):
        q, k, v = (part.view(2, 8, 4, 8).transpose(1, 2) for part in x.split(32, -1))
        return F.scaled_dot_product_attention(q.cos(), k, v + 1, is_causal=True)

    return f, [torch.randn(2, 8, 96)]


@program
def dropout():
    return lambda x: F.dropout(x, 0.3, True) + torch.rand_like(x), [torch.randn(16, 8)]


@program
def no_inputs():
    return lambda: torch.full((4, 5), 2.5) * 3, []


@program
def foreach():
    def f(a, b, c):
        torch._foreach_mul_([a, b, c], 2.0)
        return torch._foreach_add([a, b, c], [a, b, c])

    return f, [torch.randn(4, 4), torch.randn(7), torch.randn(3, 2)]


class Block(nn.Module):
    """A transformer block in the manner of GPT-2."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(width, -1)
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(width // self.heads)
        mask = torch.tril(torch.ones(length, length, dtype=torch.bool))
        weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, vocabulary: int = 50, width: int = 32, length: int = 16) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(Block(width), Block(width))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        return self.head(self.norm(self.blocks(x)))


class ResNet(nn.Module):
    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(3))
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(channels, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norms[0](self.stem(x))), 2)
        y = self.norms[2](self.conv2(F.relu(self.norms[1](self.conv1(x)))))
        return self.head(self.pool(F.relu(x + y)).flatten(1))


@program
def gpt():
    return Gpt().eval(), [torch.randint(0, 50, (2, 16))]


@program
def resnet():
    return ResNet().eval(), [torch.randn(2, 3, 32, 32)]


@program
def operands_cast_by_the_lowering():
    def f(a, b):
        return a & b, (a ^ b).cumsum(0), torch.cat([a, b.float() + 1])

    return f, [torch.rand(5, 7) > 0.5, torch.rand(5, 7) > 0.5]


@program
def mean_in_two_kernels():
    def f(x):
        return x.mean(), x.sum(-1), x.cumsum(-1).softmax(-1)

    return f, [torch.randn(1, 1, 5000)]


@program
def circular_padding():
    return lambda x: F.pad(x, (1, 1), "circular"), [torch.randn(2, 6, 8)]
