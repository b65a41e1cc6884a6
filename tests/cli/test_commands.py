"""The command line as a user sees it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import jsonschema
import pytest
from support import FUSEPROOF, ROOT

SMALL_SCRIPT = Path(__file__).with_name("small_script.py")


def site(run: Path, number: int) -> Path:
    return next(run.glob(f"*/sites/{number:03d}_*"))


def edit_json(path: Path, change) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


# ---------------------------------------------------------------- help and usage


@pytest.mark.parametrize("command", ["run", "check", "scripts", "show", "env"])
def test_every_command_has_help_with_an_example(fuseproof, command):
    result = fuseproof(command, "--help")
    assert result.returncode == 0
    assert f"fuseproof {command}" in result.stdout


def test_help_lists_the_commands_and_goes_to_stdout(fuseproof):
    result = fuseproof("--help")
    assert result.returncode == 0
    assert result.stderr == ""
    for command in ("run", "check", "scripts", "show", "env"):
        assert command in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("chekc", "RUN"),
        ("check",),
        ("check", "RUN", "--criteria", "lenient"),
        ("check", "RUN", "--jobs", "-1"),
        ("check", "RUN", "--jobs", "many"),
        ("check", "RUN", "--unknown"),
        ("run",),
        ("run", "--calls", "-1", "x.py"),
        ("run", "--byte-budget", "-1", "x.py"),
        ("run", "--byte-budget", "-1kb", "x.py"),
        ("run", "--byte-budget", "0", "x.py"),
    ],
)
def test_wrong_usage_exits_2_with_a_message_on_stderr(fuseproof, arguments):
    result = fuseproof(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.strip()


def test_the_command_line_links_no_torch(fuseproof):
    libraries = subprocess.run(["ldd", FUSEPROOF], capture_output=True, text=True, check=True)
    assert "torch" not in libraries.stdout
    assert "c10" not in libraries.stdout


# ---------------------------------------------------------------- check


def test_a_healthy_run_passes_with_a_table(fuseproof, small_run):
    result = fuseproof("check", small_run)
    assert result.returncode == 0, result.stderr
    assert "VERDICT" in result.stdout
    assert "2 match" in result.stdout
    assert "small_script.py:" in result.stdout


def test_json_is_one_document_with_every_result(fuseproof, small_run):
    result = fuseproof("check", small_run, "--json")
    document = json.loads(result.stdout)
    assert [entry["verdict"] for entry in document["results"]] == ["match", "match"]
    assert document["stages"] == {
        "kernel": "checked",
        "external": "not_checked",
        "graph": "not_checked",
    }
    for key in ("site", "kernel", "stage", "verdict", "difference", "message", "outputs"):
        assert key in document["results"][0]
    assert document["results"][0]["deciding_output"].startswith(("out_ptr", "in_out_ptr"))


def test_an_edited_kernel_is_announced_rebuilt_and_found(fuseproof, small_run):
    source = site(small_run, 0) / "kernel.cpp"
    text = source.read_text()
    assert " / " in text
    source.write_text(text.replace(" / ", " * "))
    result = fuseproof("check", small_run, "--json")
    assert result.returncode == 1
    entry = json.loads(result.stdout)["results"][0]
    assert entry["verdict"] == "kernel_wrong"
    assert any("edited" in note and "rebuilt" in note for note in entry["notes"])
    output = next(o for o in entry["outputs"] if o["verdict"] == "kernel_wrong")
    assert output["worst"]["kernel"] != output["worst"]["eager"]
    assert float(output["minimum_tolerance"]["atol"]) > 0


def test_known_findings_of_a_baseline_do_not_fail_and_new_ones_do(fuseproof, small_run, tmp_path):
    source = site(small_run, 0) / "kernel.cpp"
    source.write_text(source.read_text().replace(" / ", " * "))
    baseline = tmp_path / "baseline.json"
    baseline.write_text(fuseproof("check", small_run, "--json").stdout)

    again = fuseproof("check", small_run, "--baseline", baseline)
    assert again.returncode == 0
    assert "kernel_wrong (value; known)" in again.stdout
    assert "1 of them known, 0 findings of the baseline were not met" in again.stdout

    other = site(small_run, 1) / "kernel.cpp"
    other.write_text(other.read_text() + "\nthis is no C++\n")
    new = fuseproof("check", small_run, "--baseline", baseline, "--json")
    assert new.returncode == 1
    document = json.loads(new.stdout)
    assert [entry["known"] for entry in document["results"]] == [True, False]
    assert document["baseline"] == {"known": 1, "unmet": 0}


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"results": 3}'])
def test_what_is_no_baseline_is_refused_before_anything_runs(
    fuseproof, small_run, tmp_path, content
):
    baseline = tmp_path / "baseline.json"
    if content is not None:
        baseline.write_text(content)
    result = fuseproof("check", small_run, "--baseline", baseline)
    assert result.returncode == 2
    assert result.stdout == ""
    assert "baseline.json" in result.stderr


def test_a_source_that_does_not_compile_is_a_finding_with_the_command(fuseproof, small_run):
    source = site(small_run, 0) / "kernel.cpp"
    source.write_text(source.read_text() + "\nthis is no C++\n")
    result = fuseproof("check", small_run)
    assert result.returncode == 1
    assert "did_not_build" in result.stdout
    assert "to reproduce: " in result.stdout
    assert "1 match" in result.stdout


def test_crashing_and_endless_kernels_are_findings_and_the_rest_goes_on(fuseproof, small_run):
    source = site(small_run, 0) / "kernel.cpp"
    head, brace, body = source.read_text().partition("{\n")
    source.write_text(head + brace + "    *(volatile int*)8 = 1;\n" + body)
    result = fuseproof("check", small_run)
    assert result.returncode == 1
    assert "crashed" in result.stdout
    assert "SIGSEGV" in result.stdout or "Segmentation" in result.stdout
    assert "1 match" in result.stdout


def test_a_write_past_the_end_is_out_of_bounds(fuseproof, small_run):
    source = site(small_run, 1) / "kernel.cpp"
    head, brace, body = source.read_text().partition("{\n")
    source.write_text(head + brace + "    out_ptr0[8] = 1.0f;\n" + body)
    result = fuseproof("check", small_run, "--json")
    entry = json.loads(result.stdout)["results"][1]
    assert entry["verdict"] == "out_of_bounds"
    assert "byte 32 of out_ptr0" in entry["message"]


def test_kernels_are_chosen_by_pattern(fuseproof, small_run):
    result = fuseproof("check", small_run, "--kernel", "cpp_fused_*amax*", "--json")
    assert len(json.loads(result.stdout)["results"]) == 1
    nothing = fuseproof("check", small_run, "--kernel", "conv")
    assert nothing.returncode == 2
    assert "no kernel of" in nothing.stderr


def test_cann_criteria_speak_in_their_own_words(fuseproof, small_run):
    result = fuseproof("check", small_run, "--criteria", "cann")
    assert result.returncode == 0
    assert "precision PASSED: CosineSim=" in result.stdout
    assert result.stdout.rstrip().endswith("Precision check passed.")
    source = site(small_run, 0) / "kernel.cpp"
    source.write_text(source.read_text().replace(" / ", " * "))
    failing = fuseproof("check", small_run, "--criteria", "cann")
    assert failing.returncode == 1
    assert "precision FAILED" in failing.stdout
    assert failing.stdout.rstrip().endswith("Precision check failed.")


@pytest.mark.parametrize("closed", [0, 2])
def test_a_closed_standard_stream_changes_no_verdict(small_run, closed):
    command = f"'{FUSEPROOF}' check '{small_run}' {closed}>&-"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("words", ["check 'RUN'", "show 'RUN/0' --no-check", "env", "--help"])
@pytest.mark.parametrize("stdout", ["&-", "/dev/full"])
def test_what_cannot_be_written_to_stdout_is_an_error(small_run, words, stdout):
    command = f"'{FUSEPROOF}' {words.replace('RUN', str(small_run))} >{stdout}"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "cannot write to standard output" in result.stderr


def test_a_script_may_print_to_a_stdout_that_is_closed(tmp_path):
    command = f"'{FUSEPROOF}' run --no-check -o '{tmp_path / 'r'}' '{SMALL_SCRIPT}' >&-"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_jobs_give_the_same_results(fuseproof, small_run):
    def verdicts(jobs: int) -> list[tuple[str, str]]:
        result = fuseproof("check", small_run, "--jobs", jobs, "--json")
        return [(r["site"], r["verdict"]) for r in json.loads(result.stdout)["results"]]

    assert verdicts(1) == verdicts(2)


# ---------------------------------------------------------------- damaged and foreign runs


def test_damage_is_an_error_that_names_the_file_and_the_rest_goes_on(fuseproof, small_run):
    call = site(small_run, 0) / "calls" / "0.json"
    call.write_text(call.read_text()[:100])
    result = fuseproof("check", small_run, "--json")
    assert result.returncode == 2
    first, second = json.loads(result.stdout)["results"]
    assert first["error"] == "bad_input"
    assert "calls/0.json" in first["message"]
    assert second["verdict"] == "match"


@pytest.mark.parametrize("damage", ["truncated", "edited", "missing"])
def test_a_damaged_blob_is_named(fuseproof, small_run, damage):
    call = json.loads((site(small_run, 1) / "calls" / "0.json").read_text())
    blob = small_run / "blobs" / next(s["blob"] for s in call["storages"] if "blob" in s)
    content = bytearray(blob.read_bytes())
    if damage == "truncated":
        blob.write_bytes(content[:-1])
    elif damage == "edited":
        content[0] ^= 1
        blob.write_bytes(content)
    else:
        blob.unlink()
    result = fuseproof("check", small_run, "--kernel", "001")
    assert result.returncode == 2
    assert blob.name in result.stdout


@pytest.mark.parametrize("name", ["blob", "kernel.cpp", "kernel.so", "kernel.json", "0.json"])
def test_what_is_no_regular_file_is_refused_and_named(fuseproof, small_run, name):
    call = site(small_run, 0) / "calls" / "0.json"
    blobs = [s["blob"] for s in json.loads(call.read_text())["storages"] if "blob" in s]
    files = {"blob": small_run / "blobs" / blobs[0], "0.json": call}
    file = files.get(name, site(small_run, 0) / name)
    file.unlink()
    os.mkfifo(file)
    result = fuseproof("check", small_run, "--kernel", "000")
    assert result.returncode == 2
    assert f"{file.name}: it is a FIFO and no regular file" in result.stdout


def test_an_absent_object_is_rebuilt_and_that_is_said(fuseproof, small_run):
    (site(small_run, 0) / "kernel.so").unlink()
    result = fuseproof("check", small_run, "--kernel", "000")
    assert result.returncode == 0, result.stdout
    assert "kernel.so is absent: rebuilt" in result.stdout


def test_an_absent_source_is_an_error_beside_a_whole_object(fuseproof, small_run):
    (site(small_run, 0) / "kernel.cpp").unlink()
    result = fuseproof("check", small_run, "--kernel", "000")
    assert result.returncode == 2
    assert "source_file" in result.stdout


def test_an_edited_object_is_an_error_that_names_file_and_field(fuseproof, small_run):
    built = site(small_run, 0) / "kernel.so"
    built.write_bytes(built.read_bytes() + b"\0")
    result = fuseproof("check", small_run)
    assert result.returncode == 2
    assert "object_hash" in result.stdout
    assert "kernel.so" in result.stdout


def test_a_flag_that_is_not_allowed_is_refused(fuseproof, small_run):
    def add_flag(spec):
        spec["artifact"]["recipe"]["flags"].append("fplugin=/tmp/evil.so")

    edit_json(site(small_run, 0) / "kernel.json", add_flag)
    source = site(small_run, 0) / "kernel.cpp"
    source.write_text(source.read_text() + "\n")
    result = fuseproof("check", small_run)
    assert "fplugin" in result.stdout
    assert result.returncode in (0, 2)
    assert "1 match" in result.stdout


def test_a_foreign_run_needs_trust(fuseproof, small_run, tmp_path):
    elsewhere = {**os.environ, "FUSEPROOF_STATE_DIR": str(tmp_path / "other user")}
    refused = fuseproof("check", small_run, env=elsewhere)
    assert refused.returncode == 2
    assert "--trust" in refused.stderr
    assert fuseproof("check", small_run, "--trust", env=elsewhere).returncode == 0


@pytest.mark.parametrize("home", [None, "/nonexistent"])
def test_without_a_home_the_state_folder_is_the_cause_and_none_is_made(fuseproof, small_run, home):
    environment = {k: v for k, v in os.environ.items() if k not in ("FUSEPROOF_STATE_DIR", "HOME")}
    environment.pop("XDG_STATE_HOME", None)
    if home:
        environment["HOME"] = home
    refused = fuseproof("check", small_run, env=environment)
    assert refused.returncode == 2
    assert "can be neither read nor written (HOME names no folder that exists)" in refused.stderr
    assert fuseproof("check", small_run, "--trust", env=environment).returncode == 0
    assert not Path("/nonexistent").exists()


def test_a_run_whose_capture_had_no_state_folder_says_so(fuseproof, small_run):
    edit_json(small_run / "run.json", lambda info: info.update(origin=""))
    result = fuseproof("check", small_run)
    assert result.returncode == 2
    assert "its capture could neither read nor write a state folder" in result.stderr


def test_problems_of_the_capture_are_said(fuseproof, small_run):
    problem = {"where": "slice", "text": "Traceback:\n  in f\nOSError: No space left on device\n"}
    edit_json(small_run / "run.json", lambda info: info.update(problems=[problem] * 3))
    result = fuseproof("check", small_run)
    assert result.returncode == 0
    assert "3 things went wrong during the capture" in result.stderr
    assert "The first: OSError: No space left on device\n" in result.stderr
    assert f"`problems` in {small_run / 'run.json'}" in result.stderr


def test_as_many_jobs_as_the_kernels_threads_allow(fuseproof, small_run):
    for kernel in small_run.glob("*/sites/*/kernel.json"):
        edit_json(kernel, lambda spec: spec.update(threads=1_000_000))
    assert fuseproof("check", small_run).returncode == 0
    assert fuseproof("check", small_run, "--jobs", "0").returncode == 0


def test_a_newer_format_is_refused(fuseproof, small_run):
    edit_json(small_run / "run.json", lambda info: info.update(version="2.0"))
    result = fuseproof("check", small_run)
    assert result.returncode == 3
    assert "newer Fuseproof" in result.stderr


def test_what_is_no_run_is_refused(fuseproof, tmp_path):
    missing = fuseproof("check", tmp_path / "nothing")
    assert (missing.returncode, "does not exist" in missing.stderr) == (2, True)
    empty = fuseproof("check", tmp_path)
    assert (empty.returncode, "no run of Fuseproof" in empty.stderr) == (2, True)


@pytest.mark.parametrize("name", ["kernel", "fragment", "call", "run"])
def test_files_of_a_run_follow_their_schema(small_run, name):
    schema = json.loads((ROOT / f"docs/schema/{name}.schema.json").read_text())
    patterns = {"call": "*/sites/*/calls/*.json", "run": "run.json"}
    files = list(small_run.glob(patterns.get(name, f"*/sites/*/{name}.json")))
    assert files
    for file in files:
        jsonschema.validate(json.loads(file.read_text()), schema)


def test_a_field_of_the_wrong_type_in_run_json_is_named(fuseproof, small_run):
    edit_json(small_run / "run.json", lambda info: info.update(cpu=5))
    result = fuseproof("check", small_run)
    assert result.returncode == 2
    assert "run.json: field `cpu` is not a string" in result.stderr


def test_an_edited_fragment_is_an_error_of_its_site_and_the_rest_goes_on(fuseproof, small_run):
    edit_json(site(small_run, 0) / "fragment.json", lambda fragment: fragment.update(outputs=[]))
    result = fuseproof("check", small_run, "--json")
    assert result.returncode == 2
    first, second = json.loads(result.stdout)["results"]
    assert first["error"] == "bad_input"
    assert "fragment.json: field `outputs` is empty" in first["message"]
    assert first["kernel"] == site(small_run, 0).name.partition("_")[2]
    assert second["verdict"] == "match"


# ---------------------------------------------------------------- show and env


def add_user_line(run: Path, text: str) -> None:
    def change(fragment):
        for node in fragment["graph"]["nodes"]:
            if "source" in node:
                node["source"]["text"] = text

    edit_json(site(run, 0) / "fragment.json", change)


def test_a_source_that_is_not_utf8_is_shown_and_makes_valid_json(fuseproof, small_run):
    source = site(small_run, 0) / "kernel.cpp"
    source.write_bytes(source.read_bytes() + b"// caf\xe9\n")
    result = fuseproof("show", small_run / "0", "--no-check", "--json")
    assert result.returncode == 0, result.stderr
    assert "// caf\ufffd" in json.loads(result.stdout)["source"]


def test_users_lines_in_any_script_are_readable_whatever_the_locale(fuseproof, small_run):
    add_user_line(small_run, "größe = 面積 * 2")
    for locale in ("C", "C.UTF-8", "no_SUCH.locale"):
        environment = {**os.environ, "LC_ALL": locale}
        result = fuseproof("show", small_run / "0", "--no-check", env=environment, encoding="utf-8")
        assert "größe = 面積 * 2" in result.stdout


def test_a_strangers_run_cannot_steer_the_terminal(fuseproof, small_run):
    source = site(small_run, 0) / "kernel.cpp"
    source.write_text(source.read_text() + "// \x1b]0;title\x07\n")
    add_user_line(small_run, "x\x1b[2J")
    result = fuseproof("show", small_run / "0", "--no-check")
    assert result.returncode == 0, result.stderr
    assert "// ]0;title\n" in result.stdout
    assert "\x1b" not in result.stdout and "\x07" not in result.stdout


@pytest.mark.parametrize("name", ["RUNNER", "REFERENCE", "TORCH_DIR", "PYTHON"])
def test_a_variable_that_names_nothing_is_said(fuseproof, name):
    environment = {**os.environ, f"FUSEPROOF_{name}": "/nowhere/at/all"}
    result = fuseproof("env", env=environment)
    assert result.returncode == 2
    assert f"FUSEPROOF_{name} names /nowhere/at/all, which does not exist" in result.stderr


def test_show_tells_the_story_of_a_kernel(fuseproof, small_run):
    result = fuseproof("show", small_run / "1")
    assert result.returncode == 0, result.stderr
    assert "return torch.relu(x).amax(dim=1)" in result.stdout
    assert "aten.amax.default" in result.stdout
    assert "cpp_prefix.h" in result.stdout
    assert "verdict: match" in result.stdout


@pytest.mark.parametrize("form", ["1", "001", "process", "folder"])
def test_a_site_has_several_names(fuseproof, small_run, form):
    folder = site(small_run, 1)
    address = {
        "process": small_run / folder.parent.parent.name / "001",
        "folder": folder,
    }.get(form, small_run / form)
    result = fuseproof("show", address, "--no-check", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["spec"]["site"] == folder.name


def test_an_unknown_site_lists_the_known_ones(fuseproof, small_run):
    result = fuseproof("show", small_run / "7")
    assert result.returncode == 2
    assert site(small_run, 0).name in result.stderr


def test_env_names_what_a_check_needs(fuseproof):
    result = fuseproof("env", "--json")
    assert result.returncode == 0, result.stdout
    environment = json.loads(result.stdout)["environment"]
    assert environment["torch"].startswith("2.13.0")
    assert Path(environment["runner"]).exists()


def test_env_says_what_is_missing(fuseproof, tmp_path):
    copy = tmp_path / "fuseproof"
    shutil.copy(FUSEPROOF, copy)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FUSEPROOF_")}
    result = subprocess.run(
        [copy, "env"], capture_output=True, text=True, env=environment, check=False
    )
    assert result.returncode == 3
    assert "MISSING" in result.stdout


# ---------------------------------------------------------------- run


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


# ---------------------------------------------------------------- signals


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
