"""Captures one case: `python capture_case.py NAME RUN`."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import fuseproof
import torch
from value_cases import CASES


def capture_case(name: str, run: Path) -> None:
    """Compiles and calls the function. What the compiled call raises is part of the case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with fuseproof.capture(run):
            try:
                torch.compile(CASES[name].function)(*CASES[name].inputs())
            except Exception as error:
                print(f"{name}: {type(error).__name__}")


if __name__ == "__main__":
    capture_case(sys.argv[1], Path(sys.argv[2]))
