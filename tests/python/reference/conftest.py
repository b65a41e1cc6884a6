import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import torch
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
