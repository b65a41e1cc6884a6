"""Threads are captured like the program's main thread; forked children are not captured unless they
begin a capture of their own; the processes of one program write one run."""

import os
import subprocess
import sys
import threading

import evaluator
import fuseproof
import torch

CAPTURING = """
import sys, torch, fuseproof
with fuseproof.capture(sys.argv[1]):
    torch.compile(lambda x: x.sin() + 1)(torch.randn(8))
"""


def test_kernels_compiled_and_called_in_other_threads_are_captured(tmp_path):
    functions = [lambda x: x.sin() + 1, lambda x: x.cos() * 2]
    errors = []

    def work(function):
        try:
            torch.compile(function)(torch.randn(8))
        except Exception as error:
            errors.append(error)

    with fuseproof.capture(tmp_path / "run"):
        for function in functions:
            thread = threading.Thread(target=work, args=(function,))
            thread.start()
            thread.join()
    assert errors == []
    sites = evaluator.sites(tmp_path / "run")
    assert {target for site in sites for target in site.targets} >= {
        "aten.sin.default",
        "aten.cos.default",
    }
    assert all(site.differences(site.calls[0]) == [] for site in sites)


def test_threads_that_share_a_graph_do_not_mix_up_its_sites(tmp_path):
    def f(x, y, w):
        return torch.relu(torch.relu(x @ w + y) @ w + y) @ w

    args = torch.randn(8, 16), torch.randn(16), torch.randn(16, 16)
    compiled = torch.compile(f)
    with torch.no_grad(), fuseproof.capture(tmp_path / "run", calls=8):
        compiled(*args)

        def work():
            with torch.no_grad():
                for _ in range(3):
                    compiled(*args)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for site in evaluator.sites(tmp_path / "run"):
        blobs = {tuple(s.get("blob") for s in call["storages"]) for call in site.calls}
        assert len(site.calls) == 7 and len(blobs) == 1


def test_a_forked_child_is_not_captured_and_says_so_once(tmp_path, capfd):
    def f(x):
        return x.sin() - 1

    with fuseproof.capture(tmp_path / "run"):
        torch.compile(f)(torch.randn(8))
        for _ in range(2):
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
        torch.compile(lambda x: x.cos() - 1)(torch.randn(8))
    errors = capfd.readouterr().err
    assert errors.count("was forked from a captured program") == 1
    assert len(evaluator.sites(tmp_path / "run")) == 2  # the parent goes on being captured


def test_a_forked_child_that_ends_the_block_leaves_the_run_alone(tmp_path):
    capture = fuseproof.capture(tmp_path / "run").start()
    torch.compile(lambda x: x.sin() - 2)(torch.randn(8))
    before = (tmp_path / "run" / "run.json").read_text()
    child = os.fork()
    if child == 0:
        capture.stop()
        os._exit(0)
    os.waitpid(child, 0)
    assert (tmp_path / "run" / "run.json").read_text() == before
    capture.stop()
    assert "finished" in (tmp_path / "run" / "run.json").read_text()


def test_a_forked_child_may_capture_into_its_parent_s_run(tmp_path):
    with fuseproof.capture(tmp_path / "run"):
        child = os.fork()
        if child == 0:
            with fuseproof.capture(tmp_path / "run"):
                pass
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    joined = evaluator.load(tmp_path / "run" / "process_0_1" / "process.json")
    assert "finished" in joined
    assert joined["id"] == evaluator.load(tmp_path / "run" / "run.json")["id"]


def started(run, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", CAPTURING, run],
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ranks_of_one_launch_write_one_run_and_a_later_launch_is_refused(tmp_path):
    launch = {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
    ranks = [started(tmp_path / "run", RANK=str(rank), **launch) for rank in range(2)]
    for rank in ranks:
        errors = rank.communicate()[1]
        assert rank.returncode == 0, errors
    sites = (tmp_path / "run").glob("process_*/sites/*")
    assert sorted(site.parent.parent.name for site in sites) == ["process_0", "process_1"]
    later = started(tmp_path / "run", RANK="0", **launch)
    assert "exists already" in later.communicate()[1] and later.returncode == 1


def test_a_child_program_writes_into_its_parent_s_run_and_only_while_that_is_written(tmp_path):
    with fuseproof.capture(tmp_path / "run"):
        child = started(tmp_path / "run")
        errors = child.communicate()[1]
    assert child.returncode == 0, errors
    assert "in " + str(tmp_path / "run" / "process_0_1") in errors
    assert len(list((tmp_path / "run" / "process_0_1" / "sites").iterdir())) == 1
    later = started(tmp_path / "run")
    assert "exists already" in later.communicate()[1]


def test_threads_that_compile_at_the_same_time_are_captured(tmp_path):
    barrier = threading.Barrier(3)
    errors = []

    def work(number):
        try:
            barrier.wait()
            compiled = torch.compile(lambda x: (x.sin() * number).softmax(0), dynamic=False)
            compiled(torch.randn(8 + number))
        except Exception as error:
            errors.append(error)

    with fuseproof.capture(tmp_path / "run"):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []
    assert evaluator.load(tmp_path / "run" / "run.json")["problems"] == []
    sites = evaluator.sites(tmp_path / "run")
    assert len(sites) == 3
    assert all(site.differences(site.calls[0]) == [] for site in sites)
