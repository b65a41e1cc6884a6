import sys
from pathlib import Path

import pytest
from support import ROOT

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(ROOT / "tests/coverage"))

import equality
import torch
import torch._dynamo
import torch._inductor.inductor_prims
from reference_worker import ReferenceWorker, worker_path


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


@pytest.fixture
def compared(tmp_path):
    """compared(program): what was found of each graph that the program compiles and calls, by the
    reference and by torch's `aot_eager`."""

    def run(program):
        torch._dynamo.reset()
        with equality.compared_with_aot_eager(tmp_path / "run") as graphs:
            program()
        return graphs

    return run
