"""fuseproof.check: the results of `fuseproof check`, in Python."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuseproof import _core

_FINDINGS = frozenset(_core.finding_verdicts())


@dataclass(frozen=True)
class Finding:
    """What was found about one call site of a kernel; a match is one too.

    site:              its folder's name in the run, "003_cpp_fused_add_relu_0".
    stage:             where the fault lies: "none", "kernel", "graph", "external".
    verdict:           a word of docs/verdicts.md.
    known:             whether it is a finding that the baseline has.
    difference:        "none", "value", "nan", "inf", "sign", "dtype", "shape", "stride",
                       "exception", "mutation" or "side_effect".
    output:            the kernel's argument that decided the verdict ("out_ptr1"), or "".
    minimum_tolerance: {"atol", "rtol"}: each alone would let the difference pass; or None.
    error:             the kind of error that kept the site from being judged, or "".
    details:           the whole entry of `fuseproof check --json`.
    """

    site: str
    kernel: str
    stage: str
    verdict: str
    difference: str
    output: str
    message: str
    user_line: str
    known: bool
    minimum_tolerance: dict[str, float] | None
    error: str
    details: dict[str, Any]

    @property
    def is_finding(self) -> bool:
        """Whether the verdict says that something is wrong, known or not."""
        return self.verdict in _FINDINGS


def finding_from_json(entry: dict[str, Any]) -> Finding:
    name = entry["deciding_output"]
    deciding: dict[str, Any] = next(
        (
            output
            for output in entry["outputs"]
            if output["argument"] == name and output["verdict"] == entry["verdict"]
        ),
        {},
    )
    tolerance = deciding.get("minimum_tolerance")
    return Finding(
        site=entry["site"],
        kernel=entry["kernel"],
        stage=entry["stage"],
        verdict=entry["verdict"],
        difference=entry["difference"],
        output=name,
        message=entry["message"],
        user_line=entry["user_line"],
        known=entry["known"],
        minimum_tolerance=tolerance and {key: float(value) for key, value in tolerance.items()},
        error=entry.get("error", ""),
        details=entry,
    )


def check(
    run: str | os.PathLike[str],
    *,
    criteria: str = "default",
    kernel: str = "",
    jobs: int = 0,
    trust: bool = False,
    imports: Sequence[str] = (),
    baseline: str | os.PathLike[str] | None = None,
) -> list[Finding]:
    """Runs every captured kernel's own artifact against its fragment; a result for each site.

    criteria: "default" or "cann". kernel: only sites that fit (part of the name, or a glob).
    jobs:     how many kernels to check at once; 0: the processors divided by the largest number of
              threads that a kernel was generated for.
    trust:    run native code that another user or machine recorded.
    imports:  modules that register operators of yours, for the reference to run: their code is
              executed, in a process of its own.

    baseline: a file that `fuseproof check --json` wrote; findings that it has are `known`.

    Raises BadInputError (no run or baseline), UsageError (unknown criteria, foreign run) and
    UnsupportedError (Fuseproof or torch incompletely installed).
    """
    if criteria not in ("default", "cann"):
        raise _core.UsageError(f"criteria={criteria!r}: expected 'default' or 'cann'")
    if jobs < 0:
        raise _core.UsageError(f"jobs={jobs}: expected 0 or more")
    options = {
        "criteria": criteria,
        "kernel": kernel,
        "jobs": jobs,
        "trust": trust,
        "imports": list(imports),
        "python": sys.executable,
    }
    if baseline is not None:
        options["baseline"] = os.fspath(baseline)
    program = Path(_core.__file__).parent / "bin" / "fuseproof"
    text = _core.check_run(os.fspath(run), json.dumps(options), str(program))
    return [finding_from_json(entry) for entry in json.loads(text)]
