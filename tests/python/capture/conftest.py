import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import evaluator
import fuseproof
import torch
import torch._inductor.config


@pytest.fixture(scope="session", autouse=True)
def inductor_cache(tmp_path_factory):
    """Built kernels are shared by all tests of the session, and by no other program."""
    before = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    folder = tmp_path_factory.mktemp("inductor")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)
    yield folder
    if before is None:
        del os.environ["TORCHINDUCTOR_CACHE_DIR"]
    else:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = before


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch._inductor.config.patch(compile_threads=1):
        yield


class Captured:
    """A finished capture and what it wrote."""

    def __init__(self, run):
        self.run = run
        self.info = evaluator.load(run / "run.json")
        self.sites = evaluator.sites(run)

    def graph(self, name="0"):
        (path,) = self.run.glob(f"*/graphs/{name}/graph.json")
        return evaluator.load(path)


@pytest.fixture
def run_captured(tmp_path):
    """run_captured(function, *args, **options of capture): compiles and calls inside a capture."""

    def run(function, *args, calls_made=1, **options):
        folder = tmp_path / "run"
        compiled = torch.compile(function)
        with torch.no_grad(), fuseproof.capture(folder, **options):
            for _ in range(calls_made):
                compiled(*args)
        return Captured(folder)

    return run
