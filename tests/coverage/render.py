"""Writes the results of `make coverage` as docs/coverage.md."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from entries import GROUPS

Json = dict[str, Any]

DRY_RUN_TARGET = 0.97
LIVE_OUTPUT_TARGET = 0.95
_TITLES = {
    "models": "Models",
    "functions": "Functions",
    "kept_out": "Models kept out of development",
}

_OPENING = """# Coverage

Which part of real programs Fuseproof can check. `make coverage` measures it again and rewrites
this page, and goes on where an interrupted run ended. Each entry of `tests/coverage/` is
compiled, captured and checked in fresh processes with an empty compiler cache, and compiled once
more without a capture, to compare.

A *dry run* passes when the reference could run the kernel's fragment. An output is *live* when
something outside its kernel reads it, and *checked* when the check compared it with a reference:
the FX fragment, or else the kernel's own loop body. A *dynamic* entry is compiled with
`dynamic=True` and called at several sizes.

The last column compares the reference with PyTorch itself: each graph that torch's backend
`aot_eager` makes of an entry is run by the reference, too, on the inputs of its first calls. The
two are *equal* when all results and all inputs that were written into have the same dtypes, shapes,
strides and bits, random numbers included.
"""


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")


def _table(header: list[str], rows: Iterable[list[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(map(_cell, line)) + " |\n" for line in lines)


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.1f}%)" if whole else "0 of 0"


def _checked(result: Json) -> int:
    return int(result["live_outputs"]["fx"] + result["live_outputs"]["loop_body"])


def _live(result: Json) -> int:
    return int(sum(result["live_outputs"].values()))


def _total(name: str, results: list[Json]) -> list[object]:
    kernels = sum(result["kernels"] for result in results)
    live = sum(map(_live, results))
    return [
        name,
        len(results),
        _share(sum(result["dry_runs"] for result in results), kernels),
        _share(sum(map(_checked, results)), live),
        sum(result["live_outputs"]["loop_body"] for result in results),
        _share(sum(map(_is_same, results)), len(results)),
        _share(
            sum(result["equality"]["equal"] for result in results),
            sum(result["equality"]["graphs"] for result in results),
        ),
    ]


def _is_same(result: Json) -> bool:
    return not result["same"]["differences"]


def _totals(measured: list[Json]) -> str:
    """Models that were kept out are no part of the sum."""
    rows = [
        ["target", "", f"≥ {DRY_RUN_TARGET:.0%}", f"≥ {LIVE_OUTPUT_TARGET:.0%}", "", "all", "all"]
    ]
    for group in GROUPS:
        if own := [result for result in measured if result["group"] == group]:
            rows.append(_total(_TITLES[group].lower(), own))
    own = [result for result in measured if result["group"] != "kept_out"]
    rows.append(_total("models and functions", own))
    header = [
        "",
        "entries",
        "kernels whose dry run passes",
        "live outputs checked",
        "by the loop body only",
        "compiled as without a capture",
        "graphs that equal aot_eager's",
    ]
    return _table(header, rows)


def _verdicts(result: Json) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(result["verdicts"].items()))


def _same(result: Json) -> str:
    different = [key for key in ("graphs", "guards", "sources") if not result["same"][key]]
    return "other " + ", ".join(different) if different else "yes"


def _times(result: Json) -> list[object]:
    ratios = [with_capture / without for with_capture, without in result["seconds"]]
    fastest = min(without for _, without in result["seconds"])
    return [f"{statistics.median(ratios):.2f} ({len(ratios)})", f"{fastest:.1f} s"]


def _group(group: str, measured: list[Json], with_times: bool) -> str:
    own = [result for result in measured if result["group"] == group]
    if not own:
        return ""
    header = ["entry", "kernels", "dry runs", "live outputs", "FX", "loop body", "verdicts", "same"]
    header += ["graphs equal"]
    if with_times:
        header += ["time with / without capture (pairs)", "without"]
    rows = [
        [
            result["entry"],
            result["kernels"],
            result["dry_runs"],
            _live(result),
            result["live_outputs"]["fx"],
            result["live_outputs"]["loop_body"],
            _verdicts(result),
            _same(result),
            f"{result['equality']['equal']} of {result['equality']['graphs']}",
            *(_times(result) if with_times else []),
        ]
        for result in own
    ]
    return f"\n## {_TITLES[group]}\n\n" + _table(header, rows)


def _causes(measured: list[Json]) -> str:
    kernels: Counter[str] = Counter()
    outputs: Counter[str] = Counter()
    entries: defaultdict[str, list[str]] = defaultdict(list)
    for result in measured:
        kernels.update(result["fragment_causes"])
        outputs.update(result["output_causes"])
        for cause in {*result["fragment_causes"], *result["output_causes"]}:
            entries[cause].append(result["entry"])
    order = sorted(entries, key=lambda cause: (-outputs[cause], -kernels[cause], cause))
    rows = [[c, kernels[c], outputs[c], _few(entries[c])] for c in order]
    title = "\n## What is not checked, by cause\n\n"
    return title + (_table(["cause", "kernels", "live outputs", "entries"], rows) or "Nothing.\n")


def _exceptions(measured: list[Json]) -> str:
    """Graphs that the reference did not run as aot_eager does."""
    graphs: Counter[tuple[str, str]] = Counter()
    entries: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for result in measured:
        for target, reason, count in result["equality"]["exceptions"]:
            graphs[target, reason] += count
            entries[target, reason].append(result["entry"])
    rows = [[t, count, _few(entries[t, why]), why] for (t, why), count in graphs.most_common()]
    title = "\n## Where the reference is not aot_eager\n\n"
    return title + (_table(["node", "graphs", "entries", "why"], rows) if rows else "Nowhere.\n")


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"


def _others(measured: list[Json]) -> str:
    rows = [
        [result["entry"], other["site"].partition("_")[0], other["verdict"], other["message"]]
        for result in measured
        for other in result["others"]
    ]
    if not rows:
        return "\n## Verdicts other than match\n\nNone.\n"
    table = _table(["entry", "site", "verdict", "why"], rows)
    proofs = "Their proofs are in [findings.md](findings.md)."
    return f"\n## Verdicts other than match\n\n{proofs}\n\n{table}"


def _list(title: str, lines: list[str]) -> str:
    return f"\n## {title}\n\n" + "".join(f"- {_cell(line)}\n" for line in lines) if lines else ""


def _unmeasured(missing: list[str]) -> str:
    if not missing:
        return ""
    return f"\n**Not measured yet** ({len(missing)} entries): {', '.join(missing)}.\n"


def render(results: list[Json], *, with_times: bool, missing: list[str]) -> str:
    """`missing`: the entries that have not been measured; the page says so."""
    measured = [result for result in results if not result["failure"]]
    failures = [
        f"{result['entry']}: {result['failure']}" for result in results if result["failure"]
    ]
    failures += [
        f"{result['entry']}: the program raised {result['program_error'].splitlines()[-1]}"
        for result in measured
        if result["program_error"]
    ]
    failures += [
        f"{result['entry']}: inside the capture, {problem['where']}: "
        + problem["text"].strip().splitlines()[-1]
        for result in measured
        for problem in result["problems"]
    ]
    failures += [
        f"{result['entry']}: by aot_eager, {result['equality']['error'].splitlines()[-1]}"
        for result in measured
        if result["equality"]["error"]
    ]
    differences = [
        f"{result['entry']}: {difference}"
        for result in measured
        for difference in result["same"]["differences"]
    ]
    groups = "".join(_group(group, measured, with_times) for group in GROUPS)
    return (
        _OPENING
        + _unmeasured(missing)
        + "\n"
        + _totals(measured)
        + groups
        + _causes(measured)
        + _others(measured)
        + _exceptions(measured)
        + _list("Compiled otherwise than without a capture", differences)
        + _list("What went wrong", failures)
    )
