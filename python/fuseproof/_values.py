"""Values of a graph's plain data (src/graph/graph.h) as torch's, for the Python worker: the inverse
of `argument` in _lowering.py."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch


class Refusal(Exception):
    """Why a node cannot be run here."""


# Of the other kinds (dtype, layout, memory_format), the content is an attribute of torch.
_CONSTANTS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "complex": lambda parts: complex(*map(float, parts)),
    "device": torch.device,
}


def read_value(value: Any, references: Mapping[str, Callable[[Any], Any]]) -> Any:
    """`references`: for kinds of objects that stand for something else ("node"), what finds it.
    Lists become tuples: what operators of higher order insist on, and others take as well."""
    if isinstance(value, list):
        return tuple(read_value(element, references) for element in value)
    if not isinstance(value, dict):
        return value
    for kind, find in references.items():
        if kind in value:
            return find(value)
    if "symbol" in value:
        raise Refusal(f"the size {value['symbol']} is given to it as a literal")
    ((kind, content),) = value.items()
    return _CONSTANTS.get(kind, functools.partial(getattr, torch))(content)
