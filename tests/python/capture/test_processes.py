"""Threads are captured like the program's main thread; forked children are not captured at all."""

import os
import threading

import evaluator
import fuseproof
import torch


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
