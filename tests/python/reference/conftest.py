import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import torch
import torch._inductor.inductor_prims
from reference_worker import ReferenceWorker

BUILDS = Path(__file__).parents[3] / "build"


def worker_path():
    named = os.environ.get("FUSEPROOF_REFERENCE_WORKER")
    if named:
        return named
    built = sorted(BUILDS.glob("*/bin/fuseproof-reference"), key=lambda path: path.stat().st_mtime)
    if not built:
        pytest.fail(
            "no fuseproof-reference under build/: build it, or set "
            "FUSEPROOF_REFERENCE_WORKER to its path"
        )
    return str(built[-1])


@pytest.fixture(scope="session")
def worker():
    running = ReferenceWorker(worker_path())
    yield running
    assert running.close() == 0


@pytest.fixture(autouse=True)
def no_grad():
    with torch.no_grad():
        torch.manual_seed(20)
        yield
