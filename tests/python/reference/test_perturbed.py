"""Perturbed runs: how far rounding alone moves a result."""

import pytest
import torch
from reference_checks import GraphBuilder, same_bits
from reference_samples import BFLOAT, X, randn

aten = torch.ops.aten
prims = torch.ops.prims


def runs(worker, build, count=4):
    native, *perturbed = worker.run(
        build.fragment(), build.values, modes=["native", *["perturbed"] * count]
    )
    assert all(run.exception == "" for run in (native, *perturbed))
    return native, perturbed


def test_a_single_operator_given_equal_inputs_is_not_disturbed(worker):
    build = GraphBuilder()
    build.output(build.call(aten.exp.default, build.input(X)))
    native, perturbed = runs(worker, build)
    for run in perturbed:
        same_bits(run.outputs[0], native.outputs[0])


def test_an_intermediate_value_moves_by_two_units_in_the_last_place_at_most(worker):
    build = GraphBuilder()
    build.output(build.call(aten.mul.Tensor, build.call(aten.exp.default, build.input(X)), 1.0))
    native, perturbed = runs(worker, build)
    exact = native.outputs[0]
    unit = torch.nextafter(exact, torch.tensor(torch.inf)) - exact
    for run in perturbed:
        moved = (run.outputs[0] - exact).abs()
        assert bool((moved > 0).any())
        assert bool((moved <= 2 * unit).all())


def test_runs_differ_from_each_other_and_repeat(worker):
    build = GraphBuilder()
    build.output(build.call(aten.mul.Tensor, build.call(aten.exp.default, build.input(X)), 3.0))
    _, first = runs(worker, build)
    _, again = runs(worker, build)
    for one, two in zip(first, again, strict=True):
        same_bits(one.outputs[0], two.outputs[0])
    assert not torch.equal(first[0].outputs[0], first[1].outputs[0])


def test_values_that_are_only_moved_or_selected_are_not_disturbed(worker):
    build = GraphBuilder()
    x = build.input(X)
    y = build.call(aten.clone.default, build.call(aten.relu.default, x))
    build.output(build.call(aten.floor.default, build.call(aten.transpose.int, y, 0, 1)))
    native, perturbed = runs(worker, build)
    for run in perturbed:
        same_bits(run.outputs[0], native.outputs[0])


def test_a_reduction_takes_its_elements_in_another_order(worker):
    build = GraphBuilder()
    values = randn(3, 4000)
    x = build.input(values)
    build.output(build.call(aten.sum.dim_IntList, x, [1]), build.call(aten.sum.default, x))
    native, perturbed = runs(worker, build, count=8)
    assert any(not torch.equal(run.outputs[0], native.outputs[0]) for run in perturbed)
    for run in perturbed:
        torch.testing.assert_close(
            run.outputs[0].double(), values.double().sum(1), atol=1e-3, rtol=0
        )
        torch.testing.assert_close(
            run.outputs[1].double(), values.double().sum(), atol=1e-3, rtol=0
        )


def test_comparisons_and_indices_decide_as_the_native_run_did(worker):
    build = GraphBuilder()
    x = build.input(torch.ones(64))
    y = build.call(aten.mul.Tensor, x, 1.0)
    build.output(build.call(aten.ge.Scalar, y, 1.0), build.call(aten.argmax.default, y))
    native, perturbed = runs(worker, build)
    for run in perturbed:
        same_bits(run.outputs[0], native.outputs[0])
        same_bits(run.outputs[1], native.outputs[1])


def test_a_step_that_magnifies_noise_shows_it(worker):
    build = GraphBuilder()
    total = build.call(
        aten.sum.dim_IntList,
        build.call(aten._softmax.default, build.input(randn(64, 40)), -1, False),
        [-1],
    )
    build.output(build.call(aten.floor.default, total))
    _, perturbed = runs(worker, build, count=8)
    seen = {float(value) for run in perturbed for value in run.outputs[0]}
    assert seen == {0.0, 1.0}


def test_half_precision_moves_by_its_own_units(worker):
    build = GraphBuilder()
    y = build.call(aten.mul.Tensor, build.input(BFLOAT), 1.5)
    build.output(build.call(prims.convert_element_type.default, y, torch.float32))
    native, perturbed = runs(worker, build)
    relative = ((perturbed[0].outputs[0] - native.outputs[0]) / native.outputs[0]).abs()
    assert float(relative.nan_to_num().max()) == pytest.approx(2**-7, rel=0.5)


def test_in_place_writes_of_one_run_do_not_reach_another(worker):
    build = GraphBuilder()
    target = build.input(torch.zeros(8))
    y = build.call(aten.add.Tensor, target, 1.0)
    build.output(build.call(aten.copy_.default, target, y))
    native, perturbed = runs(worker, build)
    for run in (native, *perturbed):
        torch.testing.assert_close(run.outputs[0], torch.ones(8))
