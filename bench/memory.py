"""The memory that a command and all its children hold at most, sampled; Linux only.

What several processes share counts once (the proportional set size of the kernel's smaps_rollup).
Files that are mapped do not count: they are given back when memory is short.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

_INTERVAL_S = 0.01
_KINDS = ("Pss_Anon:", "Pss_Shmem:")


def peak_bytes(command: list[Any], **options: Any) -> int:
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([str(word) for word in command], **silent, **options)
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(_held_bytes, _family(process.pid))))
        time.sleep(_INTERVAL_S)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return peak


def _family(pid: int) -> list[int]:
    """The process and its descendants; those that have ended are passed over."""
    found = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            named = children.read_text().split()
        except OSError:
            continue
        for child in named:
            found += _family(int(child))
    return found


def _held_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(_KINDS))
