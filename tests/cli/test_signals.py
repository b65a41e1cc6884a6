"""What signals do to the commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support import FUSEPROOF, site


def start(*arguments, **options) -> subprocess.Popen[str]:
    """In a process group of its own, with the signals as a terminal's programs have them."""
    return subprocess.Popen(
        [FUSEPROOF, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: [  # noqa: PLW1509 (one thread; a background job ignores SIGINT)
            signal.signal(number, signal.SIG_DFL)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        ],
        **options,
    )


def wait_until(condition, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


WAITING = """
import os, sys, time, torch
torch.compile(lambda x: x.sin() + 1)(torch.randn(8))
open("pid", "w").write(str(os.getpid()))
os.rename("pid", "ready")
try:
    time.sleep(600)
except KeyboardInterrupt:
    print("interrupted once")
    time.sleep(1)
    print("and no more")
"""


def start_waiting_script(folder: Path) -> tuple[subprocess.Popen[str], int]:
    (folder / "waiting.py").write_text(WAITING)
    run = start("run", "-o", "r", "waiting.py", cwd=folder)
    wait_until((folder / "ready").exists)
    return run, int((folder / "ready").read_text())


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_run_ends_the_script_and_keeps_the_run(fuseproof, tmp_path, number):
    run, script = start_waiting_script(tmp_path)
    run.send_signal(number)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 128 + number, err
    assert not is_running(script)
    assert out == ""
    assert "r holds what was captured until then" in err
    assert "1 match" in fuseproof("check", tmp_path / "r").stdout


def test_ctrl_c_reaches_the_script_once_and_no_check_starts(tmp_path):
    run, script = start_waiting_script(tmp_path)
    os.killpg(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 130, err
    assert out == "interrupted once\nand no more\n"
    assert not is_running(script)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ending_a_check_ends_the_kernel_and_keeps_what_is_there(fuseproof, small_run, number):
    source = site(small_run, 1) / "kernel.cpp"
    marker = small_run / "spinning"
    head, brace, body = source.read_text().partition("{\n")
    spin = f'fclose(fopen("{marker}", "w")); for (volatile bool go = true; go;) {{}}\n'
    source.write_text("#include <cstdio>\n" + head + brace + spin + body)
    check = start("check", small_run, "--jobs", "1", "--json")
    wait_until(marker.exists)
    os.killpg(check.pid, number)
    out, err = check.communicate(timeout=30)  # the kernel's own limit is a minute
    assert check.returncode == 128 + number, (out, err)
    assert "interrupted after 1 of 2 kernels" in err
    assert [entry["verdict"] for entry in json.loads(out)["results"]] == ["match"]
