"""A check must be able to fail: one value-carrying operator replaced by another is found.

`make test` draws a sample (--seed); `make test-long` takes every operator of the demo's kernels.
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
from mutations import Mutation, mutations

SAMPLE = 24


def all_mutations(run: Path) -> list[Mutation]:
    found = []
    for site in sorted(run.glob("*/sites/*")):
        found += mutations(site.name, (site / "kernel.cpp").read_text())
    return found


def survivors(run: Path, chosen: list[Mutation], fuseproof, folder: Path) -> list[str]:
    """Applies the mutations, one a site at a time; returns those that a check lets pass."""
    passed = []
    pending = list(chosen)
    for round_number in range(len(chosen)):
        batch: dict[str, Mutation] = {}
        for mutation in list(pending):
            if mutation.site not in batch:
                batch[mutation.site] = mutation
                pending.remove(mutation)
        if not batch:
            break
        copy = folder / str(round_number)
        shutil.copytree(run, copy)
        for mutation in batch.values():
            source = next(copy.glob(f"*/sites/{mutation.site}/kernel.cpp"))
            source.write_text(mutation.apply(source.read_text()))
        result = fuseproof("check", copy, "--jobs", 2, "--json")
        assert result.returncode == 1, result.stderr
        verdicts = {r["site"]: r for r in json.loads(result.stdout)["results"]}
        for mutation in batch.values():
            # A mutant that does not compile shows nothing about the check of values.
            assert verdicts[mutation.site]["verdict"] != "did_not_build", (
                mutation,
                verdicts[mutation.site]["message"],
            )
            if verdicts[mutation.site]["verdict"] != "kernel_wrong":
                passed.append(f"{mutation} ({verdicts[mutation.site]['verdict']})")
        untouched = [r for s, r in verdicts.items() if s not in batch]
        assert all(r["verdict"] == "match" for r in untouched)
        shutil.rmtree(copy)
    return passed


@pytest.fixture(scope="module")
def half_run(tmp_path_factory, fuseproof) -> Path:
    run = tmp_path_factory.mktemp("half") / "run"
    script = Path(__file__).with_name("half_script.py")
    result = fuseproof("run", "-o", run, script)
    assert result.returncode == 0, result.stdout + result.stderr
    return run


def test_a_sample_of_replaced_operators_is_found(demo_run, fuseproof, tmp_path, seed):
    everything = all_mutations(demo_run)
    assert len(everything) >= 60
    sample = random.Random(seed).sample(everything, SAMPLE)
    assert survivors(demo_run, sample, fuseproof, tmp_path) == []


def test_a_sample_of_replaced_operators_in_half_precision_is_found(
    half_run, fuseproof, tmp_path, seed
):
    everything = all_mutations(half_run)
    sample = random.Random(seed).sample(everything, min(12, len(everything)))
    assert survivors(half_run, sample, fuseproof, tmp_path) == []


@pytest.mark.long
@pytest.mark.parametrize("run", ["demo_run", "half_run"])
def test_every_replaced_operator_is_found(run, request, fuseproof, tmp_path):
    run = request.getfixturevalue(run)
    assert survivors(run, all_mutations(run), fuseproof, tmp_path) == []
