"""Runs one entry in this process, and prints what was compiled as one line of JSON.

    measure.py ENTRY [--capture RUN]

With and without a capture the same is observed: seconds that the program took, Dynamo's graphs,
guards and the modules that Inductor generated.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
import time
import traceback
from pathlib import Path
from types import CodeType
from typing import Any

import entries
import torch
from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list
from torch._dynamo.convert_frame import register_bytecode_hook
from torch._dynamo.utils import counters
from torch._inductor.codecache import PyCodeCache
from torch._inductor.cpu_vec_isa import VecISA, pick_vec_isa

# What differs from one process to the next: addresses and ids of objects, the number of the
# compilation, the folder of this process's cache.
_VOLATILE = [
    (re.compile(r"\b0x[0-9a-f]+\b|(?<!\d)\d{10,}(?!\d)"), "ADDRESS"),
    (re.compile(r"DICT_VERSION: (.*) == \d+"), r"DICT_VERSION: \1"),
    (re.compile(r"(# device\(type='cpu'\) .*) [0-9a-f]{8,16}$", re.MULTILINE), r"\1 ADDRESS"),
    (re.compile(r"# AOT ID: \['\d+"), "# AOT ID: ['"),
    (re.compile(r"# kernel path: .*"), "# kernel path:"),
]


def settled(text: str) -> str:
    for pattern, replacement in _VOLATILE:
        text = pattern.sub(replacement, text)
    return text


class Compilations:
    """What torch compiles from now on. Observes only."""

    def __init__(self) -> None:
        self._codes: dict[CodeType, None] = {}
        register_bytecode_hook(lambda code, _: self._codes.setdefault(code))

    def guards(self) -> list[str]:
        """Of each compilation: the function and its guards."""
        return [
            f"{code.co_name}:{code.co_firstlineno}\n" + settled(str(entry.guard_manager))
            for code in self._codes
            for entry in _debug_get_cache_entry_list(code)
        ]

    @staticmethod
    def sources() -> list[str]:
        """The generated modules with their kernels. Equal ones count once: where a cache is on,
        the second graph that is equal to an earlier one is not compiled."""
        files = {getattr(module, "__file__", None) for module in PyCodeCache.modules}
        return sorted({settled(Path(file).read_text()) for file in files if file})


def measure(entry: entries.Entry, run: Path | None) -> dict[str, Any]:
    torch.manual_seed(0)
    program = entry.make()
    # The driver has probed the compiler; to load its trials again takes a process for each.
    VecISA._probe_load = lambda *_: True
    pick_vec_isa()
    capture: Any = contextlib.nullcontext()
    if run is not None:
        import fuseproof

        capture = fuseproof.capture(run)
    compilations = Compilations()
    error = ""
    torch.manual_seed(1)
    start = time.perf_counter()
    try:
        with capture:
            program()
    except Exception:
        error = traceback.format_exc()
    return {
        "seconds": time.perf_counter() - start,
        "error": error,
        "graphs": counters["stats"]["unique_graphs"],
        "guards": compilations.guards(),
        "sources": compilations.sources(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("entry")
    parser.add_argument("--capture", type=Path, metavar="RUN")
    args = parser.parse_args()
    with contextlib.redirect_stdout(sys.stderr):
        result = measure(entries.all_entries()[args.entry], args.capture)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
