"""For each program: every kernel has a fragment, every live output is checked by one, and the
fragment run in torch gives what the recorded kernel object gives on the recorded inputs."""

import fuseproof
import programs
import pytest
import torch

# inductor_random has another stream in eager than in a kernel; only the structure is compared.
DRAWS_NUMBERS = {"dropout"}


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_fragments_compute_what_the_recorded_kernels_compute(name, run_captured):
    function, args = programs.PROGRAMS[name]()
    captured = run_captured(function, *args)
    counts = captured.info["counts"]
    assert captured.info["problems"] == []
    assert counts["kernels"] == counts["fragments"] == len(captured.sites) > 0
    assert counts["live_outputs"] == counts["live_outputs_checked"] > 0
    assert counts["calls"] == counts["kernels"]
    for site in captured.sites:
        (call,) = site.calls
        if name not in DRAWS_NUMBERS:
            assert site.differences(call) == []


def test_a_changed_fragment_is_noticed_by_the_evaluator(run_captured):
    function, args = programs.PROGRAMS["pointwise"]()
    (site,) = run_captured(function, *args).sites
    for node in site.fragment["graph"]["nodes"]:
        if node.get("target") == "aten.relu.default":
            node["target"] = "aten.neg.default"
    assert site.differences(site.calls[0]) != []


def test_every_written_argument_is_an_output_with_or_without_a_check(run_captured):
    function, args = programs.PROGRAMS["layer_norm"]()
    (site,) = run_captured(function, *args).sites
    written = [i for i, a in enumerate(site.spec["arguments"]) if a["role"] in ("out", "inout")]
    outputs = site.fragment["outputs"]
    assert [output["argument"] for output in outputs] == written
    for output in outputs:
        is_checked = output["source"] in ("fx", "loop_body")
        assert is_checked == ("node" in output) == ("reason" not in output)


def test_random_numbers_are_drawn_from_a_seed_that_is_an_input(run_captured):
    function, args = programs.PROGRAMS["dropout"]()
    (site,) = run_captured(function, *args).sites
    assert "prims.inductor_random.default" in site.targets
    nodes = {node["name"]: node for node in site.fragment["graph"]["nodes"]}
    assert any("seed" in name and node["kind"] == "placeholder" for name, node in nodes.items())


def test_equal_sources_are_two_sites_with_their_own_inputs(run_captured):
    function, args = programs.PROGRAMS["equal_sources"]()
    first, second = run_captured(function, *args).sites
    assert first.spec["kernel"] == second.spec["kernel"]
    assert first.source == second.source
    assert first.spec["arguments"][0]["value"] != second.spec["arguments"][0]["value"]
    assert first.spec["nodes"] != second.spec["nodes"]
    assert first.calls[0]["storages"] != second.calls[0]["storages"]


def test_a_buffer_that_code_generation_no_longer_stores_is_an_input_and_no_output(tmp_path):
    """Gradients of the later gates are computed from those before, in buffers of their own."""
    cell = torch.nn.LSTMCell(16, 32)

    def last_state(steps):
        h = c = steps.new_zeros(4, 32)
        for step in steps:
            h, c = cell(step, (h, c))
        return h

    torch._dynamo.reset()
    with fuseproof.capture(tmp_path / "run"):
        torch.compile(last_state)(torch.randn(4, 4, 16)).sum().backward()
    for result in fuseproof.check(tmp_path / "run"):
        assert result.details["live_outputs"] == result.details["live_outputs_checked"] > 0
