"""`make bench`: the figures of the README, each as a ratio against its peer in one interleaved run.

A B A B …, so that a slow phase of the machine hits both sides; the median of the rounds' ratios is
what counts. Single times are shown for orientation only.

    .venv/bin/python bench/run.py [--json] [--rounds N] [--only compare,reference,check,capture,…]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

from memory import peak_bytes

ROOT = Path(__file__).parents[1]
BINARIES = ROOT / "build/wheel/bin"
FUSEPROOF = Path(sysconfig.get_path("scripts")) / "fuseproof"
Figure = dict[str, Any]


def seconds(command: list[Any], **options: Any) -> float:
    start = time.perf_counter()
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, check=options.pop("check", False), **silent, **options)
    return time.perf_counter() - start


def summary(name: str, peer: str, target: float | None, ratios: list[float]) -> Figure:
    return {
        "name": name,
        "peer": peer,
        "target": target,
        "median": statistics.median(ratios),
        "min": min(ratios),
        "max": max(ratios),
        "rounds": len(ratios),
    }


def from_script(script: str, name: str, peer: str, target: float, key: str) -> Figure:
    """A benchmark that interleaves by itself and prints JSON with the ratio under `key`."""
    binary = BINARIES / Path(script).stem
    run = subprocess.run(
        [sys.executable, ROOT / "bench" / script, "--binary", binary, "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    ratio = json.loads(run.stdout)
    for part in key.split("."):
        ratio = ratio[part]
    return {"name": name, "peer": peer, "target": target, **ratio}


def bench_compare(_: int) -> list[Figure]:
    return [
        from_script(
            "compare/bench_compare.py",
            "compare 16M float32, one thread",
            "the float64 formula in PyTorch, one thread",
            20,
            "ratio",
        )
    ]


def bench_reference(_: int) -> list[Figure]:
    return [
        from_script(
            "reference/bench_reference.py",
            "reference run, 200 small ops",
            "torch.fx.Interpreter",
            5,
            "ratio",
        )
    ]


def with_cache(folder: Path) -> dict[str, str]:
    """The environment of a program whose compiler cache is a folder of its own."""
    return {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder)}


def demo_run(folder: Path) -> Path:
    run = folder / "run"
    script = ROOT / "examples/two_models.py"
    command = [FUSEPROOF, "run", "--no-check", "-o", run, script]
    seconds(command, env=with_cache(folder / "inductor"), check=True)
    return run


def gpt2_training_run(folder: Path) -> Path:
    run = folder / "run"
    measure = ROOT / "tests/coverage/measure.py"
    command = [sys.executable, measure, "gpt2_training", "--capture", run]
    seconds(command, env=with_cache(folder / "inductor"), check=True)
    return run


def check_figure(what: str, run: Path, rounds: int) -> Figure:
    sites = sorted(run.glob("*/sites/*"))
    check = [FUSEPROOF, "check", run]
    seconds(check, check=False)  # objects and files are in the page cache from here on
    ratios, ours, peers = [], [], []
    for _ in range(rounds):
        peers.append(
            sum(
                seconds([sys.executable, ROOT / "bench/check/one_kernel.py", run, site])
                for site in sites
            )
        )
        ours.append(seconds(check))
        ratios.append(peers[-1] / ours[-1])
    name = f"check {len(sites)} kernels of {what}, objects built"
    figure = summary(name, "one Python process a kernel", 20, ratios)
    figure["seconds"] = statistics.median(ours)
    figure["peer_seconds"] = statistics.median(peers)
    return figure


def bench_check(rounds: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="fuseproof-bench-") as folder:
        run = demo_run(Path(folder))
        return [check_figure("the demo", run, rounds), start_of_check(run, rounds)]


def bench_training(rounds: int) -> list[Figure]:
    if importlib.util.find_spec("transformers") is None:
        print("training: not measured without transformers (pip install .[coverage])")
        return []
    with tempfile.TemporaryDirectory(prefix="fuseproof-bench-") as folder:
        run = gpt2_training_run(Path(folder))
        return [check_figure("a GPT-2 training step", run, rounds)]


def start_of_check(run: Path, rounds: int) -> Figure:
    command = [FUSEPROOF, "check", run, "--kernel", sorted(run.glob("*/sites/*"))[0].name]
    times = [seconds(command) for _ in range(max(rounds, 5))]
    return {"name": "check of one kernel, from start to end", "ms": 1e3 * statistics.median(times)}


def bench_memory(_: int) -> list[Figure]:
    """What a check and a capture hold more for three storages of 64 MiB than for three of 1 MiB."""
    script, megabytes = ROOT / "bench/check/large_softmax.py", (1, 64)
    check, capture, plain = [], [], []
    with tempfile.TemporaryDirectory(prefix="fuseproof-bench-") as name:
        folder = Path(name)
        for size in megabytes:
            run, words = folder / f"run_{size}", [script, str(size)]
            command = [sys.executable, *words]
            plain.append(peak_bytes(command, env=with_cache(folder / f"plain_{size}")))
            command = [FUSEPROOF, "run", "--no-check", "-o", run, *words]
            capture.append(peak_bytes(command, env=with_cache(folder / f"capture_{size}")))
            check.append(peak_bytes([FUSEPROOF, "check", run, "--jobs", "1"]))
    storages = 3 * (megabytes[1] - megabytes[0]) * 2**20
    check_ratio = (check[1] - check[0]) / storages
    capture_ratio = (capture[1] - capture[0] - (plain[1] - plain[0])) / storages
    return [
        memory_figure("a check", 10, check_ratio, check[0]),
        memory_figure("a capture", 0.1, capture_ratio, capture[0] - plain[0]),
    ]


def memory_figure(who: str, target: float, ratio: float, base: int) -> Figure:
    name = f"memory of {who} beside {base / 2**20:.0f} MiB"
    figure = summary(name, "the storages of a call", target, [ratio])
    figure["at_most"] = True
    return figure


def first_step(cache: Path, run: str | Path) -> float:
    ended = subprocess.run(
        [sys.executable, ROOT / "bench/capture/first_step.py", run],
        env=with_cache(cache),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(json.loads(ended.stdout)["seconds"])


def capture_figure(name: str, pairs: list[tuple[float, float]]) -> Figure:
    """`pairs`: seconds with a capture, and without."""
    ratios = [ours / peer for ours, peer in pairs]
    figure = summary(name, "the time without a capture", 1.10, ratios)
    figure["at_most"] = True
    figure["seconds"] = statistics.median(ours for ours, _ in pairs)
    figure["peer_seconds"] = statistics.median(peer for _, peer in pairs)
    return figure


def bench_capture(rounds: int) -> list[Figure]:
    cold, hit = [], []
    with tempfile.TemporaryDirectory(prefix="fuseproof-bench-") as name:
        folder = Path(name)
        for i in range(rounds):
            peer = first_step(folder / f"plain_{i}", "-")
            cold.append((first_step(folder / f"captured_{i}", folder / f"cold_{i}"), peer))
        for i in range(3 * rounds):
            peer = first_step(folder / "captured_0", "-")
            hit.append((first_step(folder / "captured_0", folder / f"hit_{i}"), peer))
    what = "first training step of a transformer in a capture"
    return [
        capture_figure(f"{what}, caches empty", cold),
        capture_figure(f"{what}, out of the caches", hit),
    ]


def bench_start(rounds: int) -> list[Figure]:
    times = [seconds([FUSEPROOF, "--help"]) for _ in range(10 * rounds)]
    return [{"name": "fuseproof --help", "ms": 1e3 * statistics.median(times)}]


BENCHES = {
    "compare": bench_compare,
    "reference": bench_reference,
    "check": bench_check,
    "training": bench_training,
    "capture": bench_capture,
    "memory": bench_memory,
    "start": bench_start,
}


def line(figure: Figure) -> str:
    if "ms" in figure:
        return f"{figure['name']}: {figure['ms']:.1f} ms"
    if figure.get("at_most"):
        verdict = "reached" if figure["median"] <= figure["target"] else "MISSED"
        return (
            f"{figure['name']}: {figure['median']:.2f}x {figure['peer']} "
            f"(min {figure['min']:.2f}, max {figure['max']:.2f}; "
            f"target at most {figure['target']:.2f}x {verdict})"
        )
    verdict = ""
    if figure["target"] is not None:
        verdict = "reached" if figure["median"] >= figure["target"] else "MISSED"
        verdict = f"; target {figure['target']:g}x {verdict}"
    return (
        f"{figure['name']}: {figure['median']:.1f}x faster than {figure['peer']} "
        f"(min {figure['min']:.1f}, max {figure['max']:.1f}{verdict})"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(BENCHES))
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - set(BENCHES)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}; there are {list(BENCHES)}")
    figures: list[Figure] = []
    for name in options.only.split(","):
        found = BENCHES[name](options.rounds)
        figures += found
        if not options.json:
            print("\n".join(map(line, found)), flush=True)
    if options.json:
        print(json.dumps({"figures": figures}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
