"""Two kernels, small enough for tests. Arguments choose how the script ends."""

import os
import sys

import torch


@torch.compile
def scaled_softmax(x, y):
    return torch.softmax(x * 0.5 + y, dim=-1)


@torch.compile
def row_maximum(x):
    return torch.relu(x).amax(dim=1)


def main() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(8, 32), torch.randn(32)
    scaled_softmax(x, y)
    row_maximum(x)
    print("arguments:", sys.argv[1:])
    if "--fail" in sys.argv:
        raise ValueError("the script fails on purpose")
    if "--exit-7" in sys.argv:
        sys.exit(7)
    if "--abort" in sys.argv:
        os.abort()


main()
