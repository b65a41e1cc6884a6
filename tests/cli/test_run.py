"""`fuseproof run`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support import FUSEPROOF

SMALL_SCRIPT = Path(__file__).with_name("small_script.py")


def test_run_captures_checks_and_passes_arguments_on(fuseproof, tmp_path):
    result = fuseproof("run", SMALL_SCRIPT, "--steps", 3, "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "arguments: ['--steps', '3', '--json']" in result.stdout
    assert "2 match" in result.stdout
    assert (tmp_path / "fuseproof-small_script-001" / "run.json").exists()


def test_run_with_json_keeps_stdout_for_the_document(fuseproof, tmp_path):
    result = fuseproof("run", "-o", tmp_path / "r", "--json", SMALL_SCRIPT)
    assert len(json.loads(result.stdout)["results"]) == 2
    assert "arguments: []" in result.stderr


def test_a_program_may_change_its_folder_while_it_is_captured(fuseproof, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    script = tmp_path / "moving.py"
    script.write_text(
        "import os, torch\n"
        "torch.compile(lambda x: x.sin() + 1)(torch.randn(8))\n"
        "os.chdir('elsewhere')\n"
        "torch.compile(lambda x: x.cos() * 2)(torch.randn(8))\n"
    )
    result = fuseproof("run", "-o", "r", script, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "2 match" in result.stdout
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_baseline_that_cannot_be_read_is_known_before_the_script_runs(fuseproof, tmp_path):
    result = fuseproof("run", "-o", tmp_path / "r", "--baseline", "none.json", SMALL_SCRIPT)
    assert result.returncode == 2
    assert "none.json" in result.stderr
    assert not (tmp_path / "r").exists()


def test_run_refuses_an_existing_folder(fuseproof, tmp_path):
    result = fuseproof("run", "-o", tmp_path, SMALL_SCRIPT)
    assert result.returncode == 2
    assert "exists already" in result.stderr


def test_run_refuses_a_missing_script(fuseproof, tmp_path):
    result = fuseproof("run", "-o", tmp_path / "r", tmp_path / "missing.py")
    assert result.returncode == 2
    assert "missing.py does not exist" in result.stderr


def test_a_script_may_begin_with_dashes_and_have_marks_of_its_own(fuseproof, tmp_path):
    (tmp_path / "--x.py").write_text("import sys\nprint(sys.argv)\n")
    marked = fuseproof("run", "--no-check", "--", "--x.py", "-o", "--", "a", cwd=tmp_path)
    assert (marked.returncode, marked.stdout) == (0, "['--x.py', '-o', '--', 'a']\n")
    plain = fuseproof("run", "--no-check", "-o", "r", "./--x.py", "--", "b", cwd=tmp_path)
    assert (plain.returncode, plain.stdout) == (0, "['./--x.py', '--', 'b']\n")


@pytest.mark.parametrize("module", ["nosuchmodule", "json.nosuch", "json", "os.path.x"])
def test_a_module_that_cannot_run_leaves_no_run_behind(fuseproof, tmp_path, module):
    result = fuseproof("run", "-o", tmp_path / "r", "-m", module, cwd=tmp_path)
    assert result.returncode == 2
    assert f"no module {module}" in result.stderr
    assert not (tmp_path / "r").exists()


def test_a_folder_without_main_leaves_no_run_behind(fuseproof, tmp_path):
    result = fuseproof("run", "-o", tmp_path / "r", tmp_path)
    assert result.returncode == 2
    assert "__main__.py" in result.stderr
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(("status", "expected"), [(2, 2), (3, 3), (1, 2)])
def test_a_capture_that_could_not_begin_passes_its_status_on(fuseproof, tmp_path, status, expected):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexit {status}\n")
    python.chmod(0o755)
    environment = {**os.environ, "FUSEPROOF_PYTHON": str(python)}
    result = fuseproof("run", "-o", tmp_path / "r", SMALL_SCRIPT, env=environment)
    assert result.returncode == expected
    assert "the script" not in result.stderr


def test_run_without_any_python_says_what_to_do(fuseproof, tmp_path):
    copy = tmp_path / "fuseproof"
    shutil.copy(FUSEPROOF, copy)
    environment = {k: v for k, v in os.environ.items() if k != "FUSEPROOF_PYTHON"}
    environment["PATH"] = str(tmp_path)
    result = subprocess.run(
        [copy, "run", "-o", tmp_path / "r", SMALL_SCRIPT],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert result.returncode == 3
    assert "FUSEPROOF_PYTHON" in result.stderr


@pytest.mark.parametrize("ending", ["--fail", "--exit-7", "--abort"])
def test_what_a_failing_script_left_is_checked(fuseproof, tmp_path, ending):
    result = fuseproof("run", "-o", tmp_path / "r", SMALL_SCRIPT, ending)
    assert result.returncode == 2
    assert "2 match" in result.stdout
    assert "the script" in result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder_is_an_error_before_the_script_runs(fuseproof, tmp_path):
    tmp_path.chmod(0o500)
    result = fuseproof("run", "-o", tmp_path / "r", SMALL_SCRIPT)
    assert result.returncode == 2
    assert "arguments:" not in result.stdout


def test_a_place_that_cannot_hold_a_run_is_an_error_before_the_script_runs(fuseproof):
    result = fuseproof("run", "-o", "/proc/nowhere/run", SMALL_SCRIPT)
    assert result.returncode == 2
    assert "/proc/nowhere" in result.stderr
    assert "arguments:" not in result.stdout


def test_a_script_that_compiles_nothing_says_so(fuseproof, tmp_path):
    script = tmp_path / "plain.py"
    script.write_text("print('hello')\n")
    result = fuseproof("run", "-o", tmp_path / "r", script)
    assert result.returncode == 3
    assert "nothing was captured" in result.stderr


def test_layouts_alone_cannot_be_checked_and_it_says_why(fuseproof, tmp_path):
    result = fuseproof("run", "-o", tmp_path / "r", "--inputs", "layout", SMALL_SCRIPT)
    assert result.returncode == 3
    assert "layouts only" in result.stdout
