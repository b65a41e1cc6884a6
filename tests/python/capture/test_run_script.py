"""python -m fuseproof.run_script: the script runs as if it had been started itself."""

import json
import os
import subprocess
import sys

COMPILES = """
import sys, torch
torch._inductor.config.compile_threads = 1
assert __name__ == "__main__" and sys.argv[1:] == ["--steps", "3"]
import beside_the_script
torch.compile(lambda x: x.sin() + 1)(torch.randn(8))
sys.exit(7)
"""


def run_script(*arguments, cwd):
    command = [sys.executable, "-m", "fuseproof.run_script", *arguments]
    path = os.pathsep.join(filter(None, [*sys.path]))
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env=environment, check=False
    )


def test_the_script_sees_its_own_arguments_and_its_exit_status_is_passed_on(tmp_path):
    (tmp_path / "beside_the_script.py").write_text("")
    (tmp_path / "script.py").write_text(COMPILES)
    done = run_script("--out", "run", "script.py", "--steps", "3", cwd=tmp_path)
    assert done.returncode == 7, done.stderr
    assert "captured 1 kernels (1 with a fragment), 0 external calls in run" in done.stderr
    info = json.loads((tmp_path / "run" / "run.json").read_text())
    assert info["counts"]["calls"] == 1


def test_an_exception_of_the_script_has_its_own_traceback_and_status_one(tmp_path):
    (tmp_path / "script.py").write_text("def f():\n    raise ValueError('of the script')\nf()\n")
    done = run_script("--out", "run", "script.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "ValueError: of the script" in done.stderr and "script.py" in done.stderr
    assert (tmp_path / "run" / "run.json").exists()


def test_a_module_runs_with_dash_m(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("import sys\nprint(sys.argv[1:])\n")
    done = run_script("--out", "run", "-m", "package", "one", "-x", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['one', '-x']\n"
    assert "nothing was captured" in done.stderr


def test_wrong_usage_is_status_two_and_runs_nothing(tmp_path):
    (tmp_path / "script.py").write_text("open('ran', 'w')\n")
    (tmp_path / "run").mkdir()
    assert run_script("--out", "other", "absent.py", cwd=tmp_path).returncode == 2
    existing = run_script("--out", "run", "script.py", cwd=tmp_path)
    assert existing.returncode == 2 and "exists already" in existing.stderr
    assert not (tmp_path / "ran").exists()
