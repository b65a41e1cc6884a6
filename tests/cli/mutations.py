"""Value-carrying operators in Inductor's C++ kernels, and what each is replaced by.

An operator carries values when it computes an element, in contrast to the arithmetic of loop
indices. Generated code names values `tmpN` and accumulators `tmp_accN`, and indices otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

VALUE = r"(?:tmp\w*|decltype\(tmp\w*\)\([^()]*\))"
INFIX = re.compile(rf"(?<=[\w)]) (?P<operator>[-+*/]) (?=(?:{VALUE}|y\b|at::vec::vec_reduce_all))")
CALLS = {
    "at::vec::maximum": "at::vec::minimum",
    "at::vec::clamp_min": "at::vec::clamp_max",
    "max_propagate_nan": "min_propagate_nan",
    "max_masked_reduce": "min_masked_reduce",
    ".exp()": ".neg()",
    ".rsqrt()": ".sqrt()",
    ".tanh()": ".neg()",
    ".erf()": ".neg()",
    ".log()": ".neg()",
    "std::exp(": "std::cos(",
    "std::log(": "std::cos(",
    "std::sqrt(": "std::cos(",
}
REPLACEMENTS = {"+": "-", "-": "+", "*": "+", "/": "*"}


@dataclass(frozen=True)
class Mutation:
    site: str
    line: int  # from 1
    column: int
    old: str
    new: str

    def apply(self, source: str) -> str:
        lines = source.split("\n")
        text = lines[self.line - 1]
        assert text[self.column :].startswith(self.old)
        lines[self.line - 1] = text[: self.column] + self.new + text[self.column + len(self.old) :]
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"{self.site}:{self.line}:{self.column}: {self.old!r} -> {self.new!r}"


def is_value_line(text: str) -> bool:
    """Assignments to values and accumulators; not loops, loads, stores or declarations."""
    stripped = text.strip()
    return stripped.startswith(("auto tmp", "tmp_acc", "return x")) and "loadu(" not in stripped


def mutations(site: str, source: str) -> list[Mutation]:
    found = []
    for number, text in enumerate(source.split("\n"), 1):
        if not is_value_line(text):
            continue
        for match in INFIX.finditer(text):
            old = match["operator"]
            found.append(Mutation(site, number, match.start("operator"), old, REPLACEMENTS[old]))
        for old, new in CALLS.items():
            if old == "max_masked_reduce" and only_shifts_a_softmax(site, source):
                continue
            for match in re.finditer(re.escape(old), text):
                found.append(Mutation(site, number, match.start(), old, new))
    return found


def only_shifts_a_softmax(site: str, source: str) -> bool:
    """Whether a smaller value of a row's tail leaves a softmax as it is.

    softmax(x) = softmax(x - m) for any m. The row's largest value only keeps exp() from
    overflowing, and the maximum over the row's whole vectors does that, too. Without whole vectors
    the accumulator is still -inf, and its minimum shows.
    """
    return "softmax" in site and "at::vec::maximum(" in source
