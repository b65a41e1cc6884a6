"""The first training step of a small transformer, compiled, in a program of its own.

python first_step.py RUN|-       ("-": without a capture)

Prints its seconds, and those of processor time (of the compilers too), as JSON; with a capture they
are those from its beginning to its end, the run on disk included.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS, LAYERS, VOCABULARY = 128, 4, 4, 1000


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        heads = (
            part.view(batch, length, HEADS, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        q, k, v = heads
        weights = ((q @ k.transpose(-2, -1)) * (WIDTH // HEADS) ** -0.5).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        logits = self.head(self.norm(self.blocks(self.tokens(ids))))
        return logits.log_softmax(-1).square().mean()


def processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main(run: str) -> None:
    import torch._inductor.compile_fx  # what an import costs is not what a compile costs
    from fuseproof._capture import Capture

    torch.manual_seed(0)
    ids = torch.randint(0, VOCABULARY, (2, 64))
    compiled = torch.compile(Transformer(), dynamic=False)
    start, processor_start = time.perf_counter(), processor_seconds()
    with contextlib.nullcontext() if run == "-" else Capture(run):
        compiled(ids).backward()
    seconds, processor = time.perf_counter() - start, processor_seconds() - processor_start
    print(json.dumps({"seconds": seconds, "processor_seconds": processor}))


if __name__ == "__main__":
    main(sys.argv[1])
