"""What goes wrong around a capture is said, and never costs the program its run."""

import json
import os
import warnings

import evaluator
import fuseproof
import pytest
import torch
from fuseproof import _kernel_record, _recorder, _torch_hooks


def load_info(run):
    return json.loads((run / "run.json").read_text())


def test_an_existing_run_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "run").mkdir()
    with (
        pytest.raises(fuseproof.UsageError, match="exists already"),
        fuseproof.capture(tmp_path / "run"),
    ):
        pytest.fail("the block ran")
    # Nothing stays installed: the next capture starts.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fuseproof.CaptureWarning)
        fuseproof.capture(tmp_path / "other").start().stop()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_folder_is_refused_before_anything_runs(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(fuseproof.FileAccessError, match="run"):
        fuseproof.capture(tmp_path / "run").start()


def test_a_folder_that_cannot_be_made_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(fuseproof.Error, match="file"):
        fuseproof.capture(tmp_path / "file" / "run").start()


@pytest.mark.parametrize(
    "options", [{"inputs": "some"}, {"calls": -1}, {"byte_budget": 0}, {"byte_budget": -5}]
)
def test_wrong_options_are_refused(tmp_path, options):
    with pytest.raises(fuseproof.UsageError, match="expected"):
        fuseproof.capture(tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_a_second_capture_at_the_same_time_is_refused(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fuseproof.CaptureWarning)
        with (
            fuseproof.capture(tmp_path / "run"),
            pytest.raises(fuseproof.UsageError, match="another capture"),
        ):
            fuseproof.capture(tmp_path / "second").start()
    assert not (tmp_path / "second").exists()


def test_a_missing_hook_is_named(monkeypatch):
    monkeypatch.setitem(_torch_hooks._NAMES, "V", "torch._inductor.virtualized:W")
    _torch_hooks.internals.cache_clear()
    try:
        with pytest.raises(fuseproof.UnsupportedError, match=r"torch\._inductor\.virtualized\.W"):
            _torch_hooks.internals()
    finally:
        monkeypatch.undo()
        _torch_hooks.internals.cache_clear()


def test_a_capture_that_comes_too_late_says_why_it_is_empty(tmp_path):
    compiled = torch.compile(lambda x: x.sin() + 4)
    compiled(torch.randn(8))
    with (
        pytest.warns(fuseproof.CaptureWarning, match="compiled before the capture began"),
        fuseproof.capture(tmp_path / "run"),
    ):
        compiled(torch.randn(8))
    assert load_info(tmp_path / "run")["counts"]["kernels"] == 0


def test_kernels_that_were_never_called_are_mentioned(tmp_path):
    with (
        pytest.warns(fuseproof.CaptureWarning, match="no call of the 1 kernels"),
        fuseproof.capture(tmp_path / "run"),
    ):
        torch.compile(lambda x: x.sin() + 4, options={"cpp_wrapper": True})(torch.randn(8))
    (site,) = evaluator.sites(tmp_path / "run")
    assert site.spec["cpp_wrapper"] and site.calls == []


def test_a_kernel_that_does_not_build_is_on_record(tmp_path):
    x = torch.arange(80, dtype=torch.uint8)
    with pytest.warns(fuseproof.CaptureWarning, match="no call"):
        try:
            with fuseproof.capture(tmp_path / "run"):
                torch.compile(lambda x: x.view(torch.bool).float() * 2)(x)
        except Exception as error:
            message = str(error)
        else:
            pytest.skip("this CPU's kernel for it builds")
    assert "compile error" in message
    (site,) = evaluator.sites(tmp_path / "run")
    artifact = site.spec["artifact"]
    assert "error" in artifact["build_error"] and artifact["object_file"] == ""
    assert site.source and site.targets
    assert load_info(tmp_path / "run")["finished"]


def test_an_exception_in_the_block_passes_and_leaves_a_readable_run(tmp_path):
    with pytest.raises(KeyboardInterrupt), fuseproof.capture(tmp_path / "run"):
        torch.compile(lambda x: x.sin() + 1)(torch.randn(8))
        raise KeyboardInterrupt
    (site,) = evaluator.sites(tmp_path / "run")
    assert site.differences(site.calls[0]) == []
    assert load_info(tmp_path / "run")["finished"]


def test_a_record_is_complete_before_the_kernel_runs(tmp_path):
    """Seen from inside the call: the run is read while the kernel has not run yet."""
    seen = []

    class Spy(torch.Tensor):
        pass

    compiled = torch.compile(lambda x: x.sin() + 1)
    with fuseproof.capture(tmp_path / "run") as capture:
        write = capture._recorder._call_writer.write

        def write_and_look(site, args, step):
            write(site, args, step)
            (found,) = evaluator.sites(tmp_path / "run")
            seen.append((found.calls[0]["index"], (found.folder / "kernel.so").exists()))

        capture._recorder._call_writer.write = write_and_look
        compiled(torch.randn(8))
    assert seen == [(0, True)]


def test_our_own_failure_costs_the_record_and_not_the_compile(tmp_path, monkeypatch):
    def broken(*args):
        raise ValueError("a defect")

    monkeypatch.setattr(_recorder, "read_kernel", broken)
    x = torch.randn(8)
    with (
        pytest.warns(fuseproof.CaptureWarning, match="went wrong"),
        fuseproof.capture(tmp_path / "run"),
    ):
        result = torch.compile(lambda x: x.sin() + 1)(x)
    torch.testing.assert_close(result, x.sin() + 1)
    (problem, *_) = load_info(tmp_path / "run")["problems"]
    assert "a defect" in problem["text"] and "Traceback" in problem["text"]


def test_a_record_that_the_slicer_refuses_leaves_the_kernel_on_record(tmp_path, monkeypatch):
    def torn(*args):
        record = _kernel_record.read_kernel(*args)
        record["steps"][0]["reads"] = "torn"
        return record

    monkeypatch.setattr(_recorder, "read_kernel", torn)
    with (
        pytest.warns(fuseproof.CaptureWarning, match="went wrong"),
        fuseproof.capture(tmp_path / "run"),
    ):
        torch.compile(lambda x: x.sin() + 1)(torch.randn(8))
    (site,) = evaluator.sites(tmp_path / "run")
    assert site.fragment["failure"].startswith("Fuseproof failed")
    assert len(site.calls) == 1


def test_the_summary_says_how_many_outputs_can_be_checked_when_not_all_can(tmp_path, capfd):
    def summary(run, dynamic):
        with fuseproof.capture(tmp_path / run):
            torch.compile(lambda x: x.sin() + 1, dynamic=dynamic)(torch.randn(10, 14))
        return capfd.readouterr().err

    assert "live outputs" not in summary("static", False)
    torch._dynamo.reset()
    # Symbolic sizes have no fragment yet.
    assert "; 0 of 1 live outputs can be checked; could not recover: " in summary("dynamic", True)
