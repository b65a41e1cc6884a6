"""What an entry's captured run and its check say, as counts.

Words: a *live* output is one that something outside its kernel reads. An output is *checked* when
the check compared it with a reference, whatever the verdict. A fragment's *dry run* passes when the
reference could run it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SOURCES = ("fx", "loop_body", "unchecked")
_DETAILS = re.compile(r"'[^']*'|\"[^\"]*\"|\b\w*\d\w*\b|\[[^\]]*\]")


def cause_of(reason: str) -> str:
    """A reason without what is special to one kernel: names, numbers, shapes."""
    return _without_details(reason)[:120]


def _without_details(reason: str) -> str:
    return _DETAILS.sub("…", reason.strip().partition("\n")[0])


def read_json(path: Path) -> Any:
    return json.loads(path.read_text())


def _dry_run_failure(fragment: Json, result: Json) -> str:
    """Why the reference did not run the fragment; empty when it did."""
    if "failure" in fragment:
        return str(fragment["failure"])
    if "error" in result or result["verdict"] in ("not_checked", "did_not_build"):
        return str(result["message"])
    if result["message"].startswith("the fragment raises"):
        return str(result["message"])
    return ""


class _Tally:
    def __init__(self) -> None:
        self.fragments = self.dry_runs = 0
        self.outputs: Counter[str] = Counter()
        self.live: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.fragment_causes: Counter[str] = Counter()
        self.output_causes: Counter[str] = Counter()
        self.others: list[Json] = []  # every verdict that is no match

    def add(self, fragment: Json, arguments: list[Json], result: Json) -> None:
        failure = _dry_run_failure(fragment, result)
        self.fragments += "failure" not in fragment
        self.dry_runs += not failure
        if failure:
            self.fragment_causes[cause_of(failure)] += 1
        judged = {
            output["argument"]: output["source"]
            for output in result["outputs"]
            if output["verdict"] != "not_checked"
        }
        for output in fragment["outputs"]:
            name = arguments[output["argument"]]["name"]
            source = judged.get(name, "unchecked")
            self.outputs[source] += 1
            if not output["is_live"]:
                continue
            self.live[source] += 1
            if source == "unchecked":
                reason = output.get("reason") or failure or result["message"] or "not compared"
                self.output_causes[cause_of(reason)] += 1
        self._add_verdict(result)

    def _add_verdict(self, result: Json) -> None:
        verdict = "error" if "error" in result else result["verdict"]
        self.verdicts[verdict] += 1
        if verdict in ("match", "not_checked"):
            return
        keys = ("site", "difference", "deciding_output", "message", "user_line")
        self.others.append({"verdict": verdict, **{key: result[key] for key in keys}})


def summary(run: Path, check: Json) -> Json:
    """Of a run and of what `fuseproof check --json` says about it."""
    results = {(result["process"], result["site"]): result for result in check["results"]}
    tally = _Tally()
    sites = sorted(run.glob("*/sites/*/kernel.json"))
    for path in sites:
        result = results[path.parents[2].name, path.parent.name]
        spec, fragment = read_json(path), read_json(path.parent / "fragment.json")
        tally.add(fragment, spec["arguments"], result)
    return {
        "kernels": len(sites),
        "fragments": tally.fragments,
        "dry_runs": tally.dry_runs,
        "outputs": {source: tally.outputs[source] for source in SOURCES},
        "live_outputs": {source: tally.live[source] for source in SOURCES},
        "verdicts": dict(tally.verdicts),
        "fragment_causes": dict(tally.fragment_causes),
        "output_causes": dict(tally.output_causes),
        "others": tally.others,
        "problems": read_json(run / "run.json").get("problems", []),
        "check_seconds": check["seconds"],
    }


def equality(compared: Json) -> Json:
    """Of what equality.py says of an entry: how many of the graphs that were called equal
    `aot_eager`'s, and of the others the node and the reason, each once a graph."""
    called = [graph for graph in compared["graphs"] if graph["calls"]]
    exceptions = Counter(
        (difference["target"], _without_details(difference["reason"]))
        for graph in called
        for difference in graph["differences"][:1]
    )
    return {
        "graphs": len(called),
        "calls": sum(graph["calls"] for graph in called),
        "equal": sum(not graph["differences"] for graph in called),
        "exceptions": [[*what, count] for what, count in exceptions.items()],
        "python_nodes": sorted({name for graph in called for name in graph["python_nodes"]}),
        "error": compared["error"],
    }


def comparison(captured: Json, plain: Json) -> Json:
    """Whether the same was compiled with and without a capture."""
    same = {key: captured[key] == plain[key] for key in ("graphs", "guards", "sources")}
    differences = [
        f"{key}: {_first_difference(captured[key], plain[key])}"
        for key, is_same in same.items()
        if not is_same
    ]
    return {**same, "differences": differences}


def _first_difference(captured: Any, plain: Any) -> str:
    if not isinstance(captured, list) or len(captured) != len(plain):
        count = len(captured) if isinstance(captured, list) else captured
        return f"{count} with capture, {len(plain) if isinstance(plain, list) else plain} without"
    for ours, theirs in zip(captured, plain, strict=True):
        for line, other in zip(ours.splitlines(), theirs.splitlines(), strict=False):
            if line != other:
                return f"with capture {line.strip()[:200]!r}, without {other.strip()[:200]!r}"
    return "one is longer"
