"""Symbolic numbers of a graph as plain data: how they are written, and where a call shows their
values. Only reads: `int()` of a symbolic number would add a guard and compile the model again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sympy
import torch
from sympy.printing.str import StrPrinter

SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


class _Printer(StrPrinter):  # type: ignore[misc]
    # Functions by their names: torch's own methods print FloorDiv and CleanDiv alike.
    printmethod = None

    def _print_Identity(self, function: sympy.Function) -> str:
        return f"Identity({self._print(function.args[0])})"

    def _print_Float(self, number: sympy.Float) -> str:
        return repr(float(number))


def _text(expression: Any) -> str:
    return str(_Printer().doprint(expression))


class Sizes:
    """The numbers of one graph, in the form that is the same for equal ones: simplified by what the
    compiler knows of its symbols (which of them are equal, what divides what)."""

    def __init__(self, sizevars: Any) -> None:
        self._sizevars = sizevars
        self._texts: dict[Any, int | str] = {}
        self._zeros: dict[Any, bool] = {}

    def text(self, value: Any) -> int | str:
        """A size, stride or offset of the graph: a number, or the text of an expression
        (src/base/expression.h)."""
        if isinstance(value, int):
            return value
        expression = sympy.sympify(value.node.expr if isinstance(value, SYMBOLIC) else value)
        if expression not in self._texts:
            size = self._simplified(expression)
            self._texts[expression] = int(size) if size.is_Integer else _text(size)
        return self._texts[expression]

    def index_text(self, value: Any, ranges: dict[Any, Any]) -> str:
        """The index of a loop body, an expression over the variables of its loops."""
        known = {
            variable: self._simplified(sympy.sympify(size)) for variable, size in ranges.items()
        }
        index = self._simplified(sympy.sympify(value))
        return _text(self._sizevars.simplify_with_ranges(index, known))

    def _simplified(self, expression: Any) -> Any:
        simplified = self._sizevars.remove_precomputed_replacements(expression)
        shape_env = self._sizevars.shape_env
        is_size = simplified.is_integer and not isinstance(simplified, sympy.Symbol)
        simplified = (shape_env.simplify if is_size else shape_env.replace)(simplified)
        # Where a guard makes a size one, FloorDiv(s0 - 1, 2) + 1, the graph's own meta data say so.
        terms = simplified.atoms(sympy.Function)
        return simplified.xreplace({term: sympy.S.Zero for term in terms if self._is_zero(term)})

    def _is_zero(self, term: Any) -> bool:
        if term not in self._zeros:
            is_of_sizes = term.free_symbols <= self._sizevars.shape_env.backed_var_to_val.keys()
            self._zeros[term] = is_of_sizes and self._sizevars.statically_known_equals(term, 0)
        return self._zeros[term]


class SymbolPlace(NamedTuple):
    """An argument of a call that shows what a symbol stands for."""

    symbol: str
    argument: int
    field: str  # "number": the argument itself; "shape", "strides": one of its own
    dim: int = 0

    def value(self, arguments: Sequence[Any]) -> int | float:
        argument = arguments[self.argument]
        if self.field == "number":
            return argument if isinstance(argument, float) else int(argument)
        sizes = argument.shape if self.field == "shape" else argument.stride()
        return int(sizes[self.dim])


def place_of_number(argument: int, text: int | str) -> list[SymbolPlace]:
    """Of an argument that is a number itself."""
    is_symbol = isinstance(text, str) and text.isidentifier()
    return [SymbolPlace(str(text), argument, "number")] if is_symbol else []


def places_in(argument: int, layout: dict[str, Any]) -> list[SymbolPlace]:
    """The symbols that stand bare in a layout."""
    return [
        SymbolPlace(size, argument, field, dim)
        for field in ("shape", "strides")
        for dim, size in enumerate(layout[field])
        if isinstance(size, str) and size.isidentifier()
    ]


def symbol_values(
    places: Iterable[SymbolPlace], arguments: Sequence[Any]
) -> dict[str, int | float]:
    values: dict[str, int | float] = {}
    for place in places:
        if place.symbol not in values:
            values[place.symbol] = place.value(arguments)
    return values
