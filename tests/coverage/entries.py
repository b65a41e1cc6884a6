"""The entries of the coverage table: programs that compile something and call it.

An entry is a function without arguments that builds its model and inputs and returns the *program*:
a function without arguments that compiles and calls. Only the program is captured and timed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

Program = Callable[[], object]

# "kept_out": models that no part of Fuseproof was written for; they are reported apart.
GROUPS = ("models", "functions", "kept_out")
_MODULES = ("models", "functions", "kept_out")


@dataclass(frozen=True)
class Entry:
    name: str
    group: str
    make: Callable[[], Program]


_ENTRIES: dict[str, Entry] = {}


def register(name: str, group: str, make: Callable[[], Program]) -> None:
    if group not in GROUPS or name in _ENTRIES:
        raise ValueError(f"entry {name!r} of group {group!r}: a new name and one of {GROUPS}")
    _ENTRIES[name] = Entry(name, group, make)


def all_entries() -> dict[str, Entry]:
    """By name, in the order of the table."""
    for module in _MODULES:
        importlib.import_module(module)
    return _ENTRIES
