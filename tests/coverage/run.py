"""`make coverage`: how much of real programs Fuseproof can check, as docs/coverage.md.

    .venv/bin/python tests/coverage/run.py [--only PATTERN] [--jobs N] [--time] [--rounds N]

Each entry is captured and checked in fresh processes with an empty compiler cache, and compiled
once more without a capture, to compare; its graphs are run by the reference and by `aot_eager` in
another. What an entry gave is one line of JSON in the results
folder; an entry whose result is there, from this Fuseproof, is not measured again. Its run stays
beside the results, for `fuseproof show`. With --show the table is written of what is there.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import entries
import fuseproof
import results
from render import render

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FUSEPROOF = Path(sysconfig.get_path("scripts")) / "fuseproof"
TIME_LIMIT_S = 1800
Json = dict[str, Any]


class EntryFailed(Exception):
    """Something other than the entry's own program failed."""


def fingerprint() -> str:
    """Of all that a result depends on: the installed Fuseproof and how it is measured."""
    digest = hashlib.sha256()
    folders = {Path(module.__file__).parent for module in (fuseproof, fuseproof._core)}
    files = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
    measuring = set(HERE.glob("*.py")) - {HERE / "run.py", HERE / "render.py"}
    for path in sorted({FUSEPROOF, *files, *measuring}):
        if path.suffix != ".pyc":
            digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


# Threads that wait must not spin: the machine may be shared, and so is it between entries.
_ENVIRONMENT = {"OMP_WAIT_POLICY": "passive", "PYTHONHASHSEED": "0", "HF_HUB_OFFLINE": "1"}


def run_json(command: list[Any], environment: dict[str, str], accepted: set[int]) -> Json:
    """The JSON document that a command prints."""
    process = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env={**os.environ, **_ENVIRONMENT, **environment},
        timeout=TIME_LIMIT_S,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if process.returncode not in accepted:
        ending = "\n".join(process.stderr.splitlines()[-20:])
        raise EntryFailed(f"exit status {process.returncode} of {command[1:3]}: {ending}")
    document: Json = json.loads(process.stdout)
    return document


def probe_compiler(folder: Path) -> None:
    """A compiler cache that holds nothing but Inductor's trials of which vector instructions the
    compiler knows. They take longer than most entries, and are the same for all."""
    cache = folder / "compiler_probe"
    probe = "from torch._inductor.cpu_vec_isa import pick_vec_isa; pick_vec_isa()"
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache)}
    subprocess.run([sys.executable, "-c", probe], env=environment, check=True)


def compile_entry(name: str, folder: Path, run: Path | None) -> Json:
    """In a process of its own, whose compiler cache holds the trials alone."""
    capture = [] if run is None else ["--capture", run]
    with tempfile.TemporaryDirectory(prefix="fuseproof_coverage_") as cache:
        shutil.copytree(folder / "compiler_probe", cache, dirs_exist_ok=True)
        environment = {
            "TORCHINDUCTOR_CACHE_DIR": cache,
            "TORCHINDUCTOR_COMPILE_THREADS": "1",  # no pool of compilers to start in each process
        }
        return run_json([sys.executable, HERE / "measure.py", name, *capture], environment, {0})


def compare_graphs(name: str) -> Json:
    """Of the reference and `aot_eager`."""
    return run_json([sys.executable, HERE / "equality.py", name], {}, {0})


def check_run(run: Path) -> Json:
    # Of the statuses of `fuseproof check`, 2 alone leaves no document behind.
    return run_json([FUSEPROOF, "check", run, "--json"], {}, {0, 1, 3})


def measure(entry: entries.Entry, folder: Path, rounds: int) -> Json:
    run = folder / "runs" / entry.name
    shutil.rmtree(run, ignore_errors=True)
    captured = compile_entry(entry.name, folder, run)
    plain = compile_entry(entry.name, folder, None)
    seconds = [[captured["seconds"], plain["seconds"]]]
    for _ in range(1, rounds):
        with tempfile.TemporaryDirectory(prefix="fuseproof_coverage_") as again:
            with_capture = compile_entry(entry.name, folder, Path(again) / "run")["seconds"]
        seconds.append([with_capture, compile_entry(entry.name, folder, None)["seconds"]])
    return {
        "program_error": captured["error"] or plain["error"],
        **results.summary(run, check_run(run)),
        "same": results.comparison(captured, plain),
        "equality": results.equality(compare_graphs(entry.name)),
        "seconds": seconds,
    }


def result_path(entry: entries.Entry, folder: Path) -> Path:
    return folder / f"{entry.name}.jsonl"


def known_result(entry: entries.Entry, folder: Path, identity: Json) -> Json | None:
    """What was measured before, by this Fuseproof."""
    path = result_path(entry, folder)
    if not path.exists():
        return None
    known: Json = json.loads(path.read_text())
    return known if known["identity"] == identity else None


def result_of(entry: entries.Entry, folder: Path, identity: Json, rounds: int) -> Json:
    """From the results folder, or measured now and put there."""
    if known := known_result(entry, folder, identity):
        return known
    path = result_path(entry, folder)
    result: Json = {"entry": entry.name, "group": entry.group, "identity": identity}
    try:
        result |= {"failure": ""} | measure(entry, folder, rounds)
    except (EntryFailed, subprocess.TimeoutExpired, OSError, ValueError, KeyError) as error:
        result["failure"] = f"{type(error).__name__}: {error}"
    unfinished = path.with_suffix(".new")
    unfinished.write_text(json.dumps(result) + "\n")
    unfinished.replace(path)
    return result


def chosen(patterns: list[str]) -> list[entries.Entry]:
    known = entries.all_entries()
    found = [
        entry
        for name, entry in known.items()
        if not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
    ]
    if not found:
        sys.exit(f"no entry fits {', '.join(patterns)}; there are: {', '.join(known)}")
    return found


def progress(done: int, total: int, result: Json) -> None:
    if result["failure"]:
        text = result["failure"].splitlines()[0]
    else:
        live = result["live_outputs"]
        text = (
            f"{result['dry_runs']}/{result['kernels']} kernels, "
            f"{live['fx'] + live['loop_body']}/{sum(live.values())} live outputs"
        )
    print(f"[{done}/{total}] {result['entry']}: {text}", file=sys.stderr, flush=True)


def measure_all(selected: list[entries.Entry], folder: Path, identity: Json, jobs: int) -> None:
    probe_compiler(folder)
    rounds = identity["rounds"]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        pending = [pool.submit(result_of, e, folder, identity, rounds) for e in selected]
        for done, future in enumerate(concurrent.futures.as_completed(pending), start=1):
            progress(done, len(selected), future.result())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="a glob")
    parser.add_argument("--jobs", type=int, default=1, help="how many entries at once")
    parser.add_argument("--show", action="store_true", help="measure nothing, write the table")
    parser.add_argument("--time", action="store_true", help="report compile times, too")
    parser.add_argument("--rounds", type=int, default=1, help="pairs of compilations to time")
    parser.add_argument("--results", type=Path, default=ROOT / "build/coverage")
    parser.add_argument("--output", type=Path, help="the table; default: standard output")
    args = parser.parse_args()
    folder = args.results.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    identity = {"fuseproof": fingerprint(), "rounds": args.rounds}
    selected = chosen(args.only)
    if not args.show:
        measure_all(selected, folder, identity, args.jobs)
    known = [known_result(entry, folder, identity) for entry in selected]
    text = render(
        [result for result in known if result is not None],
        with_times=args.time,
        missing=[entry.name for entry, r in zip(selected, known, strict=True) if r is None],
    )
    if args.output is None:
        print(text, end="")
    else:
        args.output.write_text(text)


if __name__ == "__main__":
    main()
