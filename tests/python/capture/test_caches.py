"""torch's caches of compiled graphs are on while a capture runs, and hide nothing from it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import evaluator
import fuseproof
import pytest
import torch
import torch._functorch.config
import torch._inductor.config
from torch._dynamo.utils import counters
from torch._inductor.scheduler import Scheduler
from torch._inductor.utils import fresh_cache

PROGRAMS = Path(__file__).parent / "cached_programs.py"
AGAIN = "they were compiled again"


class Caches:
    """A folder for Inductor's caches, and programs that use it one after the other."""

    def __init__(self, folder):
        self.folder = folder
        self.counts, self.said = {}, {}

    def run(self, name, *options):
        """A program with a capture into the run of that name; "plain": without one."""
        ended = subprocess.run(
            [sys.executable, PROGRAMS, "-" if name == "plain" else self.folder / name, *options],
            env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        self.counts[name] = json.loads(ended.stdout.splitlines()[-1])
        self.said[name] = ended.stderr

    def misses(self, name):
        return {key: n for key, n in self.counts[name].items() if key.endswith("_miss") and n}

    def hits(self, name):
        return sum(n for key, n in self.counts[name].items() if key.endswith("_hit"))

    def keys(self):
        entries = [*self.folder.glob("inductor/fxgraph/*/*"), *self.folder.glob("inductor/aot*/*")]
        return {path.name for path in entries}


@pytest.fixture(scope="module")
def caches(tmp_path_factory):
    return Caches(tmp_path_factory.mktemp("caches"))


def written(run):
    """All that a run holds, but for what tells two runs of one program apart."""
    files = {}
    for path in sorted(run.rglob("*")):
        if path.is_file():
            files[str(path.relative_to(run))] = path.read_bytes()
    info = json.loads(files.pop("run.json"))
    return files, {name: info[name] for name in ("graphs", "counts", "failures", "problems")}


def test_a_hit_gives_the_run_that_a_miss_gives(caches):
    for name in ("cold", "hot"):
        caches.run(name)
        assert AGAIN not in caches.said[name]
    assert caches.hits("cold") == 0 and caches.misses("hot") == {}
    files, info = written(caches.folder / "cold")
    assert written(caches.folder / "hot") == (files, info)
    assert info["problems"] == [] and info["counts"]["kernels"] > 10


def test_what_a_capture_has_stored_serves_a_program_without_one(caches):
    caches.run("plain")
    assert caches.counts["plain"] == caches.counts["hot"]


def test_a_graph_that_was_cached_without_a_capture_is_compiled_again(caches):
    keys = caches.keys()
    for path in caches.folder.glob("inductor/fuseproof/*"):
        path.unlink()
    caches.run("again")
    assert caches.hits("again") == 0
    in_cache = len(list(caches.folder.glob("inductor/fxgraph/*/*")))
    assert f"torch's cache held {in_cache} of these graphs" in caches.said["again"]
    assert caches.keys() == keys  # a capture asks for the same entries
    assert written(caches.folder / "again") == written(caches.folder / "hot")


def test_graphs_that_lie_in_the_entries_of_autograd_s_cache_are_captured_on_a_hit(caches):
    for name in ("bundled cold", "bundled hot"):
        caches.run(name, "bundled")
        assert AGAIN not in caches.said[name]
    assert caches.hits("bundled cold") == 0
    assert caches.misses("bundled hot") == {} and caches.hits("bundled hot") > 5
    assert written(caches.folder / "bundled hot") == written(caches.folder / "bundled cold")


def poem(x, w):
    return torch.relu(torch.relu(x @ w).sin() @ w) * torch.tensor([1.0, 2.0]).repeat(8)


@pytest.fixture
def compiled_once(tmp_path):
    """compiled_once(name): compiles and calls `poem` in a capture; the run's folder."""

    def run(name):
        torch._dynamo.reset()
        counters.clear()
        torch.manual_seed(0)
        with torch.no_grad(), fuseproof.capture(tmp_path / name):
            torch.compile(poem)(torch.randn(16, 16), torch.randn(16, 16))
        return tmp_path / name

    with fresh_cache():
        yield run


def side_files():
    return sorted(Path(os.environ["TORCHINDUCTOR_CACHE_DIR"], "fuseproof").glob("*.json"))


def test_a_graph_compiled_twice_in_one_program_comes_from_the_cache(compiled_once):
    first, second = written(compiled_once("first")), written(compiled_once("second"))
    assert counters["aot_autograd"]["autograd_cache_hit"] == 1
    assert first == second and first[1]["counts"]["calls"] == 2


def test_calls_after_a_hit_are_right(compiled_once):
    compiled_once("first")
    sites = evaluator.sites(compiled_once("second"))
    assert len(sites) == 2
    assert all(site.differences(site.calls[0]) == [] for site in sites)


@pytest.mark.parametrize("damage", ["truncated", "edited", "absent"])
def test_a_damaged_side_file_counts_as_absent(damage, compiled_once, capfd):
    compiled_once("first")
    (path,) = side_files()
    whole = path.read_bytes()
    if damage == "absent":
        path.unlink()
    else:
        path.write_bytes(whole[:500] if damage == "truncated" else whole.replace(b"sin", b"cos"))
    again = compiled_once("second")
    assert "torch's cache held 1 of these graphs" in capfd.readouterr().err
    assert written(compiled_once("third")) == written(again)
    assert AGAIN not in capfd.readouterr().err


def test_side_files_of_another_program_are_left_alone(compiled_once, monkeypatch, capfd):
    compiled_once("first")
    monkeypatch.setattr("fuseproof._side_file._program", lambda: "a later one")
    compiled_once("second")
    assert AGAIN in capfd.readouterr().err
    assert len(side_files()) == 2


def test_a_forward_graph_alone_is_not_recorded_twice(tmp_path, compiled_once):
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU())
    x = torch.randn(4, 8)

    def train(name):
        torch._dynamo.reset()
        with fuseproof.capture(tmp_path / name):
            torch.compile(model)(x).sum().backward()
        return evaluator.load(tmp_path / name / "run.json")

    kinds = [graph["kind"] for graph in train("cold")["graphs"]]
    assert kinds == ["forward", "backward"]
    for path in side_files():
        if '"kind": "backward"' in path.read_text():
            path.unlink()
    info = train("without the backward graph's")
    assert [graph["kind"] for graph in info["graphs"]] == kinds
    assert info["problems"] == []


def test_a_capture_that_began_within_a_compile_leaves_no_side_file(
    tmp_path, compiled_once, monkeypatch
):
    """Part of what it should hold had happened before."""
    capture = fuseproof.capture(tmp_path / "late")
    original = Scheduler.__init__

    def begin(*args, **kwargs):
        if not capture.counts:
            capture.start()
        original(*args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(Scheduler, "__init__", begin)
        with torch.no_grad():
            torch.compile(poem)(torch.randn(16, 16), torch.randn(16, 16))
    capture.stop()
    assert side_files() == []
    assert evaluator.load(compiled_once("later") / "run.json")["counts"]["kernels"] == 2


def test_in_strict_mode_a_miss_would_be_an_error_and_is_not_made(compiled_once):
    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(poem)(torch.randn(16, 16), torch.randn(16, 16))
    strict = torch._functorch.config.patch(strict_autograd_cache=True)
    with strict, pytest.warns(fuseproof.CaptureWarning) as warned:
        compiled_once("run")
    assert any("1 compiled graphs came out of a cache" in str(w.message) for w in warned)


def test_kernels_built_by_a_pool_of_workers_are_found_on_a_hit(compiled_once):
    with torch._inductor.config.patch(compile_threads=2):
        first, second = written(compiled_once("first")), written(compiled_once("second"))
    assert first == second
    assert any(name.endswith("kernel.so") for name in second[0])
