"""fuseproof.capture: records the kernels that Inductor compiles while it runs, with their inputs.

with fuseproof.capture("RUN"):
    compiled(x)
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import time
import traceback
import warnings
import weakref
from types import TracebackType
from typing import Any

from fuseproof._core import Error, RunWriter, UsageError
from fuseproof._environment import run_info
from fuseproof._recorder import Recorder
from fuseproof._torch_hooks import Hooks, internals

_INPUTS = ("real", "layout")
_RUN_ID = "FUSEPROOF_RUN_ID"  # of the run that this process or its parent is writing


class CaptureWarning(UserWarning):
    """A capture that recorded less than one would think."""


class Capture:
    """Use it as a context manager, or start() and stop() it.

    run:          the folder to create. An existing one is refused, but for the processes of one
                  program: the ranks of a launch (RANK and WORLD_SIZE are set, as by torchrun) and
                  children of the process that created it. Each has a folder of its own in it.
    inputs:       "real" keeps what the kernels were called with, "layout" only shapes and strides.
    byte_budget:  how many bytes of inputs may be written; None: no limit.
    calls:        how many calls of each call site are recorded; where sizes are symbolic, calls
                  with sizes that are not on record yet.

    Raises UsageError (wrong arguments, RUN exists, another capture runs), FileAccessError (RUN
    cannot be written) and UnsupportedError (torch lacks a hook) when it starts, before anything is
    compiled. What is compiled is the same as without it.
    """

    def __init__(
        self,
        run: str | os.PathLike[str],
        *,
        inputs: str = "real",
        byte_budget: int | None = None,
        calls: int = 1,
    ) -> None:
        if inputs not in _INPUTS:
            raise UsageError(f"inputs={inputs!r}: expected one of {', '.join(_INPUTS)}")
        if calls < 0:
            raise UsageError(f"calls={calls}: expected 0 or more")
        if byte_budget is not None and byte_budget < 1:
            raise UsageError(f"byte_budget={byte_budget}: expected a positive number of bytes")
        self.run = os.fspath(run)
        self._inputs = inputs
        self._byte_budget = byte_budget
        self._calls = calls
        self._writer: Any = None
        self._recorder: Recorder | None = None
        self._hooks: Hooks | None = None
        self._modules_before = 0
        self._parent_run: str | None = None

    def start(self) -> Capture:
        if self._hooks is not None:
            raise UsageError("this capture is running already")
        hooks = Hooks()
        hooks.install()
        try:
            self._recorder = self._new_recorder()
        except BaseException:
            hooks.remove()
            raise
        hooks.listen(self._recorder)
        self._hooks = hooks
        self._parent_run = os.environ.get(_RUN_ID)
        os.environ[_RUN_ID] = self._writer.run_id
        self._modules_before = len(internals().PyCodeCache.modules)
        _running.add(self)
        return self

    def _new_recorder(self) -> Recorder:
        info = run_info(self._inputs, self._calls, self._byte_budget)
        self._writer = RunWriter(
            self.run, _process(), _launch(), os.environ.get(_RUN_ID, ""), json.dumps(info)
        )
        if self._byte_budget is not None:
            self._writer.set_byte_budget(self._byte_budget)
        return Recorder(self._writer, self._inputs, self._calls)

    def stop(self) -> None:
        """Ends the capture: torch is as it was, the run is complete. Nothing when not running."""
        if self._hooks is None or self._recorder is None:
            return
        self._end(self._hooks, self._recorder)
        if self._parent_run is None:
            os.environ.pop(_RUN_ID, None)
        else:
            os.environ[_RUN_ID] = self._parent_run
        self._finish(self._recorder)

    def __enter__(self) -> Capture:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.stop()
        except Error:
            if error is None:
                raise
            traceback.print_exc()  # the program's own exception goes on

    @property
    def counts(self) -> dict[str, Any]:
        """What has been recorded so far, as in run.json."""
        return {} if self._recorder is None else self._recorder.counts()

    def mute(self) -> None:
        """Switches everything off without touching the run (in a forked child)."""
        if self._hooks is not None and self._recorder is not None:
            self._end(self._hooks, self._recorder)

    def _end(self, hooks: Hooks, recorder: Recorder) -> None:
        _running.discard(self)
        hooks.remove()
        self._hooks = None
        recorder.detach()

    def _finish(self, recorder: Recorder) -> None:
        recorder.finish()
        refused = self._writer.blob_bytes_refused
        ending = {
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "failures": dict(recorder.failures()),
            "problems": recorder.problems,
            "blob_bytes": self._writer.blob_bytes_written,
            "blob_bytes_refused": refused,
        }
        self._writer.update_info(json.dumps(ending))
        print(self._summary(recorder), file=sys.stderr)
        if recorder.recompiled:
            print(
                f"fuseproof: torch's cache held {recorder.recompiled} of these graphs, but what a "
                "capture needs to know of them was not kept then; they were compiled again, and "
                "will be taken from the cache next time",
                file=sys.stderr,
            )
        if refused:
            print(
                f"fuseproof: the byte budget of {self._byte_budget} was reached; "
                f"{refused} bytes of inputs were left out and only their layouts kept",
                file=sys.stderr,
            )
        self._warn_about_gaps(recorder)

    def _summary(self, recorder: Recorder) -> str:
        counts = recorder.counts()
        text = (
            f"fuseproof: captured {counts['kernels']} kernels ({counts['fragments']} with a "
            f"fragment), {counts['external_calls']} external calls in {self._where()}"
        )
        live, checked = counts["live_outputs"], counts["live_outputs_checked"]
        if checked < live:
            text += f"; {checked} of {live} live outputs can be checked"
        failures = recorder.failures()
        if failures:
            reasons = ", ".join(f"{reason} ({n})" for reason, n in failures.most_common())
            text += f"; could not recover: {reasons}"
        return text

    def _where(self) -> str:
        is_creator = os.path.basename(self._writer.info_path) == "run.json"
        return self.run if is_creator else os.path.join(self.run, self._writer.process)

    def _warn_about_gaps(self, recorder: Recorder) -> None:
        counts = recorder.counts()
        if recorder.problems:
            _warn(
                f"{len(recorder.problems)} things went wrong inside Fuseproof during the capture; "
                f"they are listed under `problems` in {self._writer.info_path}"
            )
        if recorder.cached_modules:
            _warn(
                f"{recorder.cached_modules} compiled graphs came out of a cache in a way that does "
                "not let Fuseproof have them compiled again, and were not captured. Clear it "
                "(TORCHINDUCTOR_CACHE_DIR) or disable it for this run."
            )
        if recorder.problems:
            return
        if counts["kernels"] == 0 and counts["external_calls"] == 0:
            before = self._modules_before
            cause = (
                f"{before} graphs had been compiled before the capture began, and are not compiled "
                "again. Begin the capture before the first call of the compiled function, or call "
                "torch._dynamo.reset() inside it first."
                if before
                else "Nothing was compiled for the CPU while it ran. Call a function that "
                "torch.compile returned inside the capture."
            )
            _warn(f"nothing was captured. {cause}")
        elif counts["kernels"] and not counts["calls"] and self._calls:
            is_cpp_wrapper = any(site.spec["cpp_wrapper"] for site in recorder.sites)
            cause = (
                "With cpp_wrapper the kernels are called from C++, where calls are not seen yet."
                if is_cpp_wrapper
                else "They were compiled, but the program did not get as far as calling one."
            )
            _warn(f"no call of the {counts['kernels']} kernels was recorded. {cause}")


def _process() -> str:
    """The folder of this process in its run."""
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    suffix = "" if restart == "0" else f"_restart_{restart}"
    return f"process_{os.environ.get('RANK', '0')}{suffix}"


def _launch() -> str:
    """What all ranks of one launch have in common; "" for a process that is no rank."""
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        return ""
    names = ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE")
    return " ".join(f"{name}={os.environ.get(name, '')}" for name in names)


def _warn(text: str) -> None:
    """Warns at the line of the program that ended the capture."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame, level = frame.f_back, level + 1
    warnings.warn(f"fuseproof: {text}", CaptureWarning, stacklevel=level)


# The captures to switch off in a forked child: its hooks would write into the parent's run.
_running: weakref.WeakSet[Capture] = weakref.WeakSet()
_child_has_spoken = mmap.mmap(-1, 1)  # shared with every child, so that only the first one says so


def _after_fork_in_child() -> None:
    captures = list(_running)
    _running.clear()
    for capture in captures:
        capture.mute()
    if captures and _child_has_spoken[0] == 0:
        _child_has_spoken[0] = 1
        print(
            f"fuseproof: process {os.getpid()} was forked from a captured program and is not "
            "captured itself",
            file=sys.stderr,
        )


os.register_at_fork(after_in_child=_after_fork_in_child)
