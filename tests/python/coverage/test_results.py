"""The counts of docs/coverage.md, from runs and checks written by hand."""

import json
import sys

import pytest
from support import ROOT

sys.path.insert(0, str(ROOT / "tests/coverage"))

import render
import results

ADDED = {"argument": 1, "buffer": "buf0", "source": "fx", "node": "add", "is_live": True}
TEMPORARY = {**ADDED, "argument": 2, "buffer": "buf1", "is_live": False}
LOST = {"argument": 2, "buffer": "buf1", "source": "unchecked", "is_live": True}
ARGUMENTS = [{"name": "in_ptr0"}, {"name": "out_ptr0"}, {"name": "out_ptr1"}]


def output(argument, verdict="match", source="fx"):
    return {"argument": argument, "verdict": verdict, "source": source}


def site_result(verdict, outputs, message=""):
    return {
        "verdict": verdict,
        "outputs": outputs,
        "message": message,
        "difference": "none",
        "deciding_output": "",
        "user_line": "",
    }


@pytest.fixture
def summary(tmp_path):
    """summary((fragment, result of its check), …)"""

    def summarise(*sites):
        (tmp_path / "run.json").write_text('{"problems": []}')
        listed = []
        for index, (fragment, result) in enumerate(sites):
            name = f"{index:03d}_kernel"
            folder = tmp_path / "process_0/sites" / name
            folder.mkdir(parents=True)
            (folder / "kernel.json").write_text(json.dumps({"arguments": ARGUMENTS}))
            (folder / "fragment.json").write_text(json.dumps(fragment))
            listed.append({**result, "process": "process_0", "site": name})
        return results.summary(tmp_path, {"results": listed, "seconds": 0.5})

    return summarise


def test_a_temporary_inside_a_kernel_is_no_live_output(summary):
    found = summary(
        (
            {"outputs": [ADDED, TEMPORARY]},
            site_result("match", [output("out_ptr0"), output("out_ptr1")]),
        )
    )
    assert found["outputs"] == {"fx": 2, "loop_body": 0, "unchecked": 0}
    assert found["live_outputs"] == {"fx": 1, "loop_body": 0, "unchecked": 0}
    assert found["dry_runs"] == found["kernels"] == 1


def test_outputs_of_a_kernel_that_the_check_gave_up_on_are_unchecked(summary):
    refused = site_result("not_checked", [], "the fragment calls aten.foo, which nobody knows")
    found = summary(({"outputs": [ADDED]}, {**refused, "error": "unsupported"}))
    assert (found["fragments"], found["dry_runs"]) == (1, 0)
    assert found["live_outputs"]["unchecked"] == 1
    assert found["verdicts"] == {"error": 1}
    assert list(found["output_causes"]) == ["the fragment calls aten.foo, which nobody knows"]


def test_equal_causes_of_several_kernels_are_one(summary):
    reasons = ["buffer 'buf3' has no value", "buffer 'buf12' has no value"]
    found = summary(
        *(
            (
                {"outputs": [ADDED, {**LOST, "reason": reason}]},
                site_result(
                    "match", [output("out_ptr0"), output("out_ptr1", "not_checked", "unchecked")]
                ),
            )
            for reason in reasons
        )
    )
    assert found["output_causes"] == {"buffer … has no value": 2}
    assert found["fragment_causes"] == {}


def test_what_only_the_loop_body_checks_is_counted_apart(summary):
    by_body = {**ADDED, "source": "loop_body"}
    found = summary(
        ({"outputs": [by_body]}, site_result("match", [output("out_ptr0", source="loop_body")]))
    )
    assert found["live_outputs"] == {"fx": 0, "loop_body": 1, "unchecked": 0}


def test_verdicts_other_than_match_are_listed_with_their_site(summary):
    wrong = site_result("kernel_wrong", [output("out_ptr0", "kernel_wrong")], "3 of 4 differ")
    (other,) = summary(({"outputs": [ADDED]}, wrong))["others"]
    assert (other["verdict"], other["site"]) == ("kernel_wrong", "000_kernel")
    assert other["message"] == "3 of 4 differ"


def test_another_guard_is_a_difference_and_is_shown():
    captured = {"graphs": 1, "guards": ["f:1\nSIZE == 3"], "sources": ["code"]}
    found = results.comparison(captured, {**captured, "guards": ["f:1\nSIZE >= 2"]})
    assert (found["graphs"], found["guards"], found["sources"]) == (True, False, True)
    (difference,) = found["differences"]
    assert "SIZE == 3" in difference and "SIZE >= 2" in difference


def entry(name, group, *, kernels, dry_runs, checked, unchecked=0):
    return {
        "entry": name,
        "group": group,
        "failure": "",
        "program_error": "",
        "kernels": kernels,
        "dry_runs": dry_runs,
        "live_outputs": {"fx": checked, "loop_body": 0, "unchecked": unchecked},
        "verdicts": {"match": dry_runs},
        "fragment_causes": {},
        "output_causes": {},
        "others": [],
        "problems": [],
        "same": {"graphs": True, "guards": True, "sources": True, "differences": []},
        "seconds": [[2.0, 1.0]],
        "equality": results.equality({"graphs": [graph()], "error": ""}),
    }


def graph(*differences, calls=2):
    return {"calls": calls, "differences": list(differences), "python_nodes": []}


def test_a_graph_counts_once_however_much_of_it_differs():
    refused = {"target": "higher_order.cond", "node": "", "reason": "node `cond_3`: a constant"}
    other = {"target": "aten.sin.default", "node": "sin", "reason": "2 of 4 elements"}
    found = results.equality(
        {"graphs": [graph(), graph(other, other), graph(refused), graph(calls=0)], "error": ""}
    )
    assert (found["graphs"], found["equal"], found["calls"]) == (3, 1, 6)
    assert ["aten.sin.default", "… of … elements", 1] in found["exceptions"]
    assert len(found["exceptions"]) == 2


def test_where_the_reference_is_not_aot_eager_is_named():
    refused = {"target": "higher_order.cond", "node": "", "reason": "a branch writes"}
    result = entry("conditional", "functions", kernels=1, dry_runs=1, checked=1)
    result["equality"] = results.equality({"graphs": [graph(), graph(refused)], "error": ""})
    text = render.render([result], with_times=False, missing=[])
    assert "| higher_order.cond | 1 | conditional | a branch writes |" in text
    assert "1 of 2 (50.0%)" in text


def test_models_that_were_kept_out_are_summed_up_apart():
    text = render.render(
        [
            entry("mlp", "models", kernels=4, dry_runs=3, checked=5),
            entry("softmax", "functions", kernels=4, dry_runs=4, checked=1, unchecked=4),
            entry("secret", "kept_out", kernels=2, dry_runs=2, checked=2),
        ],
        with_times=False,
        missing=[],
    )
    rows = {row.split(" | ")[0].lstrip("| "): row for row in text.splitlines() if "|" in row}
    assert "7 of 8 (87.5%) | 6 of 10 (60.0%)" in rows["models and functions"]
    assert "2 of 2 (100.0%)" in rows["models kept out of development"]


def test_a_page_of_an_interrupted_run_names_what_was_not_measured():
    measured = [entry("mlp", "models", kernels=1, dry_runs=1, checked=1)]
    assert "Not measured" not in render.render(measured, with_times=False, missing=[])
    text = render.render(measured, with_times=False, missing=["gpt2", "llama"])
    assert "**Not measured yet** (2 entries): gpt2, llama." in text
