"""The command line as a user sees it: help, check, show, env."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support import FUSEPROOF, edit_json, site

SMALL_SCRIPT = Path(__file__).with_name("small_script.py")


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


def test_an_unknown_command_is_named(fuseproof):
    assert "there is no command `chekc`" in fuseproof("chekc", "RUN").stderr


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
