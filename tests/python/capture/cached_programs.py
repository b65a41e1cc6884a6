"""Compiles programs of every kind that torch's caches hold, as a program of its own:

python cached_programs.py RUN|- [bundled]      ("-": without a capture)

Prints what the caches counted.
"""

import contextlib
import json
import sys

import fuseproof
import torch
import torch._functorch.config
import torch._inductor.config
from torch._dynamo.utils import counters

INLINED = torch.tensor([1.0, 2.0, 3.0, 4.0])
SEPARATE = torch.linspace(0, 1, 64)


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(16, 64), torch.nn.Linear(64, 16)

    def forward(self, x):
        return self.down(torch.nn.functional.gelu(self.up(x))).softmax(-1)


def inference():
    with torch.no_grad():
        torch.compile(Layers())(torch.randn(4, 16))


def training():
    torch.compile(Layers())(torch.randn(4, 16)).square().sum().backward()


def dynamic_shapes():
    compiled = torch.compile(lambda x: (x * x.shape[0]).softmax(0).sum(1), dynamic=True)
    for length in (8, 12):
        compiled(torch.randn(length, 5))


def several_graphs():
    def function(x):
        x = x.sin() + 1
        torch._dynamo.graph_break()
        return x.cos() * 2

    torch.compile(function)(torch.randn(33))


def constants():
    def function(x):
        return (x * SEPARATE).view(16, 4) + INLINED.repeat(16).view(16, 4) * INLINED

    torch.compile(function)(torch.randn(64))


def freezing():
    with torch.no_grad(), torch._inductor.config.patch(freezing=True):
        torch.compile(Layers().eval())(torch.randn(4, 16))


def sub_graphs():
    def function(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x,))

    with torch.no_grad():
        torch.compile(function)(torch.ones(8))


def only_external_calls():
    with torch.no_grad():
        torch.compile(lambda x, y: x @ y)(torch.randn(8, 8), torch.randn(8, 8))


PROGRAMS = [
    inference,
    training,
    dynamic_shapes,
    several_graphs,
    constants,
    freezing,
    sub_graphs,
    only_external_calls,
]


def main(run, *options):
    torch.manual_seed(0)
    capture = contextlib.nullcontext() if run == "-" else fuseproof.capture(run)
    bundled = torch._functorch.config.patch(bundled_autograd_cache="bundled" in options)
    with bundled, capture:
        for program in PROGRAMS:
            torch._dynamo.reset()
            program()
    caches = {**counters["aot_autograd"], **counters["inductor"]}
    print(json.dumps({name: count for name, count in caches.items() if "cache_" in name}))


if __name__ == "__main__":
    main(*sys.argv[1:])
