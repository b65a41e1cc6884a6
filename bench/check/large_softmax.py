"""A kernel with three large storages whose check needs all that a check can need.

python bench/check/large_softmax.py MEGABYTES_OF_A_STORAGE
"""

import sys

import torch

ROWS = 1024

if __name__ == "__main__":
    elements = int(sys.argv[1]) * 2**20 // 4
    left, right = torch.randn(ROWS, elements // ROWS), torch.randn(ROWS, elements // ROWS)
    with torch.no_grad():
        torch.compile(lambda x, y: torch.softmax(x * y, -1))(left, right)
