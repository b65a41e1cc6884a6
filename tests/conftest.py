"""What all Python tests share."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support import FUSEPROOF, ROOT


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=1, help="of the samples that tests draw")


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> int:
    return request.config.getoption("--seed")


@pytest.fixture(scope="session")
def session_caches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Caches and state of this session alone: tests neither see nor leave anything of yours."""
    folder = tmp_path_factory.mktemp("caches")
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "FUSEPROOF_CACHE_DIR": str(folder / "fuseproof"),
        "FUSEPROOF_STATE_DIR": str(folder / "state"),
    }


@pytest.fixture(scope="session", autouse=True)
def inductor_cache(session_caches: dict[str, str]) -> None:
    os.environ.update(session_caches)


@pytest.fixture(scope="session")
def fuseproof():
    """Runs the command line; returns the finished process with text output."""

    def run(*arguments: object, check: bool = False, **options: object):
        return subprocess.run(
            [FUSEPROOF, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=check,
            stdin=subprocess.DEVNULL,
            timeout=600,
            **options,
        )

    return run


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory: pytest.TempPathFactory, fuseproof) -> Path:
    """A run of the demo's two healthy models, captured once. Do not change it: copy it."""
    run = tmp_path_factory.mktemp("demo") / "run"
    result = fuseproof("run", "--no-check", "-o", run, ROOT / "examples/two_models.py")
    assert result.returncode == 0, result.stderr
    return run
