"""`make demo` succeeds only when healthy models match and exactly the planted faults are found."""

from __future__ import annotations

import subprocess
import sys

from support import ROOT


def test_the_demo_finds_exactly_the_planted_faults():
    demo = subprocess.run(
        [sys.executable, ROOT / "examples/demo.py"], capture_output=True, text=True, check=False
    )
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "as it should be" in demo.stdout
    assert "kernel_wrong (value)" in demo.stdout
