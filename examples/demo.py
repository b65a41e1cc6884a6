"""`make demo`: checks every kernel of two models, then again with a fault planted by torch itself.

Succeeds when the healthy models have no finding, and when with the planted fault (every relu
becomes x + 1) exactly the kernels whose fragments contain a relu are found.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

FUSEPROOF = Path(sysconfig.get_path("scripts")) / "fuseproof"
SCRIPT = Path(__file__).with_name("two_models.py")


def run_and_check(run: Path, *arguments: str) -> list[dict[str, str]]:
    """Captures and checks the models, shows the table, and returns the results."""
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(run.parent / "inductor")}
    subprocess.run(
        [FUSEPROOF, "run", "-o", run, "--jobs", "2", SCRIPT, *arguments],
        env=environment,
        check=False,
    )
    check = subprocess.run(
        [FUSEPROOF, "check", run, "--jobs", "2", "--json"], capture_output=True, check=False
    )
    results: list[dict[str, str]] = json.loads(check.stdout)["results"]
    return results


def has_relu(run: Path, result: dict[str, str]) -> bool:
    bundle = run / result["process"] / "sites" / result["site"]
    fragment = json.loads((bundle / "fragment.json").read_text())
    return any(node.get("target") == "aten.relu.default" for node in fragment["graph"]["nodes"])


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="fuseproof-demo-") as folder:
        print("== two healthy models: a GPT-style block and a small ResNet ==\n", flush=True)
        healthy = run_and_check(Path(folder) / "healthy")
        print("\n== the same, with every relu turned into x + 1 by torch ==\n", flush=True)
        planted_run = Path(folder) / "planted"
        planted = run_and_check(planted_run, "--plant-relu-bug")

        alarms = [result["site"] for result in healthy if result["verdict"] != "match"]
        found = {r["site"] for r in planted if r["verdict"] == "kernel_wrong"}
        guilty = {r["site"] for r in planted if has_relu(planted_run, r)}
        print(f"\nhealthy: {len(healthy)} kernels, {len(alarms)} not matching {alarms or ''}")
        print(f"planted: {len(guilty)} kernels contain a relu, {len(found)} found")
        is_right = bool(healthy) and not alarms and bool(guilty) and found == guilty
        print("as it should be" if is_right else "NOT as it should be")
        return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
