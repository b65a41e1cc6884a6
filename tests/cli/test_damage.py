"""Runs that are damaged, edited or made elsewhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest
from support import ROOT, edit_json, site


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
    result = fuseproof("check", small_run, "--json")
    assert result.returncode == 3
    document = json.loads(result.stdout)
    assert document["summary"] == {"match": 2}
    assert document["capture"]["problems"] == ["OSError: No space left on device"] * 3
    assert "3 things went wrong during the capture" in result.stderr
    assert "The first: OSError: No space left on device\n" in result.stderr
    assert f"`problems` in {small_run / 'run.json'}" in result.stderr


def test_a_finding_weighs_more_than_a_problem_of_the_capture(fuseproof, small_run):
    problem = {"where": "slice", "text": "odd"}
    edit_json(small_run / "run.json", lambda info: info.update(problems=[problem]))
    source = site(small_run, 1) / "kernel.cpp"
    source.write_text("#error no\n" + source.read_text())
    assert fuseproof("check", small_run).returncode == 1


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
