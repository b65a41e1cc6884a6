"""`fuseproof scripts`, and the scripts that it writes."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import edit_json, site


def start(script: Path, *arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=600,
        **options,
    )


@pytest.fixture
def script(small_run, fuseproof) -> Path:
    """The softmax's."""
    assert fuseproof("scripts", small_run).returncode == 0
    return site(small_run, 0) / "benchmark.py"


def test_every_kernel_gets_a_script_that_parses_and_is_named(small_run, fuseproof):
    result = fuseproof("scripts", small_run)
    scripts = sorted(small_run.glob("*/sites/*/benchmark.py"))
    assert len(scripts) == 2
    assert result.stdout == "".join(f"{path}\n" for path in scripts) + "2 scripts written\n"
    assert result.returncode == 0 and result.stderr == ""
    for path in scripts:
        assert ast.get_docstring(ast.parse(path.read_text())).startswith("Benchmark of one fused")


def test_json_is_one_document_and_a_pattern_chooses(small_run, fuseproof):
    result = fuseproof("scripts", small_run, "--kernel", "softmax", "--json")
    (entry,) = json.loads(result.stdout)["results"]
    assert "softmax" in entry["site"] and Path(entry["script"]).exists()
    assert entry["has_precision"] is True
    assert len(list(small_run.glob("*/sites/*/benchmark.py"))) == 1


def test_a_script_checks_its_fragment_by_itself_and_anywhere(script, tmp_path):
    moved = tmp_path / "elsewhere.py"
    script.rename(moved)
    result = start(moved, "--check", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "output:div precision PASSED: CosineSim=1.000000" in result.stdout
    assert result.stdout.endswith("Precision check passed.\n")


def test_the_function_makes_the_calls_of_the_fragment_in_their_order(script):
    tree = ast.parse(script.read_text())
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "eager_fn")
    calls = [
        ast.unparse(n.value.func).removeprefix("torch.ops.")
        for n in function.body
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
    ]
    fragment = json.loads((script.parent / "fragment.json").read_text())
    nodes = fragment["graph"]["nodes"]
    assert calls == [n["target"] for n in nodes if n["kind"] == "call"]
    returned = [name.id for name in function.body[-1].value.elts]
    assert returned == [o["node"] for o in fragment["outputs"] if o["is_live"]]


def test_a_check_fails_where_the_two_sides_differ(script):
    source = script.read_text()
    # The reference becomes another function while the compiled one stays.
    changed = source.replace(
        "def _run_eager(inputs):\n    return eager_fn(inputs)",
        "def _run_eager(inputs):\n    return (1 - eager_fn(inputs)[0],)",
    )
    assert changed != source
    script.write_text(changed)
    result = start(script, "--check")
    assert result.returncode == 1, result.stdout + result.stderr
    assert "output:div precision FAILED" in result.stdout
    assert result.stdout.endswith("Precision check failed.\n")


def test_help_says_what_a_script_can_do_and_wrong_usage_is_an_error(script):
    result = start(script, "--help")
    assert result.returncode == 0 and "--check" in result.stdout
    for words in ([], ["--chekc"], ["--check", "more"]):
        wrong = start(script, *words)
        assert wrong.returncode == 2 and "usage:" in wrong.stderr


def test_variables_of_the_process_that_compiled_are_set_unless_they_are_given(script):
    source = script.read_text().replace(
        "_bench_env = {}", '_bench_env = {"TORCHINDUCTOR_FREEZING": "1"}'
    )
    script.write_text(source)
    given = start(script, "--help", env={**os.environ, "TORCHINDUCTOR_FREEZING": "0"})
    assert given.stderr == (
        "WARNING: TORCHINDUCTOR_FREEZING is '0'; it was '1' when the kernel was generated\n"
    )
    assert start(script, "--help").stderr == ""


def test_a_kernel_without_a_fragment_has_a_script_that_says_why(small_run, fuseproof):
    fragment = site(small_run, 1) / "fragment.json"
    edit_json(fragment, lambda document: document.update(failure="no origin"))
    result = fuseproof("scripts", small_run)
    assert result.returncode == 0
    assert "2 scripts written, 1 of them without an eager function" in result.stdout
    assert "without --check: no origin" in result.stderr
    ended = start(fragment.with_name("benchmark.py"), "--check")
    assert ended.returncode == 3
    assert ended.stderr == "fuseproof: there is no eager function to check: no origin\n"


def test_a_damaged_bundle_is_named_and_the_others_get_their_scripts(small_run, fuseproof):
    (site(small_run, 0) / "kernel.json").write_text("{")
    result = fuseproof("scripts", small_run)
    assert result.returncode == 2
    assert "no script: " in result.stderr and "kernel.json" in result.stderr
    assert "1 script written, 1 failed" in result.stdout
    assert not (site(small_run, 0) / "benchmark.py").exists()


def test_what_is_no_run_and_a_pattern_that_fits_nothing_are_errors(small_run, fuseproof, tmp_path):
    for arguments in ((tmp_path / "none",), (small_run, "--kernel", "conv")):
        result = fuseproof("scripts", *arguments)
        assert result.returncode == 2 and result.stdout == ""
        assert result.stderr.startswith("fuseproof: ")
