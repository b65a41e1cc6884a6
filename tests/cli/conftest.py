from __future__ import annotations

import shutil
from pathlib import Path

import pytest

SMALL_SCRIPT = Path(__file__).with_name("small_script.py")


@pytest.fixture(scope="session")
def recorded_small_run(tmp_path_factory, fuseproof) -> Path:
    run = tmp_path_factory.mktemp("small") / "run"
    result = fuseproof("run", "--no-check", "-o", run, SMALL_SCRIPT)
    assert result.returncode == 0, result.stderr
    return run


@pytest.fixture
def small_run(recorded_small_run, tmp_path) -> Path:
    """A copy of a run with two kernels that a test may change."""
    shutil.copytree(recorded_small_run, tmp_path / "run")
    return tmp_path / "run"
