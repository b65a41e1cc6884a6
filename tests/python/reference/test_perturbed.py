"""Envelope and span: how far rounding alone moves a result, and where decisions hang on it."""

import operator

import numpy as np
import pytest
import torch
from reference_checks import GraphBuilder, same_bits
from reference_samples import BFLOAT, X, randn

aten = torch.ops.aten
prims = torch.ops.prims


def spread(worker, build):
    """The native run's outputs, half-widths, and (low, high) pairs."""
    native, envelope, span = worker.run(
        build.fragment(), build.values, modes=["native", "envelope", "span"]
    )
    assert native.exception == envelope.exception == span.exception == ""
    pairs = list(zip(span.outputs[::2], span.outputs[1::2], strict=True))
    return native.outputs, envelope.outputs, pairs


def unit_of(values):
    return torch.nextafter(values, torch.full_like(values, torch.inf)) - values


def test_a_single_operator_given_equal_inputs_has_no_spread_but_its_own_rounding(worker):
    build = GraphBuilder()
    build.output(build.call(aten.exp.default, build.input(X)))
    (native,), (envelope,), _ = spread(worker, build)
    rounding = (native.double() - X.double().exp()).abs()
    same_bits(envelope, rounding)


def test_an_intermediate_value_moves_by_a_unit_or_two_in_the_last_place(worker):
    build = GraphBuilder()
    build.output(build.call(aten.mul.Tensor, build.call(aten.exp.default, build.input(X)), 1.0))
    (native,), (envelope,), _ = spread(worker, build)
    units = envelope / unit_of(native).abs().double()
    assert float(units.min()) >= 0.5
    assert float(units.max()) <= 3


def test_equal_requests_give_equal_envelopes(worker):
    build = GraphBuilder()
    build.output(build.call(aten.mul.Tensor, build.call(aten.exp.default, build.input(X)), 3.0))
    _, first, _ = spread(worker, build)
    _, again, _ = spread(worker, build)
    same_bits(first[0], again[0])


def test_values_that_are_only_moved_or_selected_have_no_spread(worker):
    build = GraphBuilder()
    y = build.call(aten.clone.default, build.call(aten.relu.default, build.input(X)))
    build.output(build.call(aten.transpose.int, y, 0, 1))
    (native,), (envelope,), ((low, high),) = spread(worker, build)
    assert float(envelope.max()) == 0
    same_bits(low.contiguous(), native.double().contiguous())
    same_bits(high.contiguous(), native.double().contiguous())


@pytest.mark.parametrize("op", [aten.sum.dim_IntList, aten.mean.dim])
def test_a_cancelling_reduction_spreads_as_one_addition_after_the_other_does(worker, op):
    build = GraphBuilder()
    values = randn(50, 2000)
    build.output(build.call(op, build.input(values), [1]))
    _, (envelope,), _ = spread(worker, build)
    one_by_one = torch.zeros(50)
    for column in values.unbind(1):
        one_by_one = one_by_one + column
    exact = values.double().sum(1)
    scale = 2000 if op is aten.mean.dim else 1
    error = (one_by_one.double() - exact).abs() / scale
    assert bool((error <= 4 * envelope).all())
    assert float(envelope.max()) < 100 * float(error.max())


def test_a_sum_in_order_of_what_cancels_late_lies_in_the_envelope(worker):
    build = GraphBuilder()
    values = torch.cat([randn(64, 300).abs(), -randn(64, 300).abs()], 1)
    build.output(build.call(aten.sum.dim_IntList, build.input(values), [1]))
    _, (envelope,), _ = spread(worker, build)
    one_by_one = torch.zeros(64)
    for column in values.unbind(1):
        one_by_one = one_by_one + column
    error = (one_by_one.double() - values.double().sum(1)).abs()
    assert bool((error <= 4 * envelope).all())


def in_float32(values):
    """One addition after the other along the first dimension; NumPy's cumsum does no other."""
    return np.cumsum(values.numpy(), axis=0, dtype=np.float32)[-1]


def test_equal_addends_in_a_long_column_err_as_runs_of_two_chunks_do(worker):
    rows = 0.5 + randn(2, 8).abs()
    values = rows[torch.randint(0, 2, (40000,), generator=torch.Generator().manual_seed(5))]
    build = GraphBuilder()
    build.output(build.call(aten.sum.dim_IntList, build.input(values), [0]))
    _, (envelope,), _ = spread(worker, build)
    kernel = in_float32(torch.stack([torch.tensor(in_float32(run)) for run in values.split(8192)]))
    error = (torch.tensor(kernel).double() - values.double().sum(0)).abs()
    assert bool((error <= 4 * envelope).all())


def test_columns_that_threads_share_err_as_the_parts_of_each_do(worker):
    """Both halves cancel to sums of one size; what is left of the two is small."""
    half = randn(3000, 64)
    values = torch.cat([half + 100, -half.flip(0) - 100 + 1e-3 * randn(3000, 64)])
    build = GraphBuilder()
    build.output(build.call(aten.sum.dim_IntList, build.input(values), [0]))
    _, (envelope,), _ = spread(worker, build)
    first, second = (torch.tensor(in_float32(part)) for part in values.split(3000))
    error = ((first + second).double() - values.double().sum(0)).abs()
    assert bool((error <= 4 * envelope).all())


@pytest.mark.parametrize("lanes", [8, 16, 32])
def test_equal_addends_in_a_lane_of_a_vector_err_as_that_lane_does(worker, lanes):
    values = randn(64).repeat(4096)
    build = GraphBuilder()
    build.output(build.call(aten.sum.default, build.input(values)))
    _, (envelope,), _ = spread(worker, build)
    by_lane = [torch.tensor(in_float32(run)) for run in values.view(-1, lanes).split(8192)]
    kernel = in_float32(torch.stack([torch.tensor(in_float32(sums)) for sums in by_lane]))
    error = abs(float(kernel) - float(values.double().sum()))
    assert error <= 4 * float(envelope)


def test_the_mean_beside_a_variance_spreads_as_welfords_does(worker):
    build = GraphBuilder()
    values = randn(500, 1)
    values = torch.cat([values, -values + 1e-3 * randn(500, 1)], 1)
    moments = build.call(aten.var_mean.correction, build.input(values), [1])
    build.output(build.call(operator.getitem, moments, 1))
    _, (envelope,), _ = spread(worker, build)
    first, second = values.unbind(1)
    error = ((first + (second - first) / 2).double() - values.double().mean(1)).abs()
    assert float((error <= 4 * envelope).double().mean()) > 0.97


def test_the_mean_of_one_element_has_no_spread_and_what_follows_from_it_has(worker):
    build = GraphBuilder()
    values = randn(50, 1)
    moments = build.call(aten.var_mean.correction, build.input(values), [1], correction=1)
    mean = build.call(operator.getitem, moments, 1)
    build.output(build.call(aten.mul.Tensor, build.call(aten.exp.default, mean), 3.3))
    _, (envelope,), _ = spread(worker, build)
    result = values[:, 0].exp() * 3.3
    error = (result.double() - values[:, 0].double().exp() * 3.3).abs()
    assert bool((error <= 4 * envelope).all())
    assert float((envelope / result.double()).max()) < 1e-6


def test_the_mean_beside_a_deviation_spreads_as_the_one_beside_a_variance(worker):
    values = randn(500, 1)
    values = torch.cat([values, -values + 1e-3 * randn(500, 1)], 1)
    widths = []
    for op in (aten.var_mean.correction, aten.std_mean.correction):
        build = GraphBuilder()
        moments = build.call(op, build.input(values), [1])
        build.output(build.call(operator.getitem, moments, 1))
        _, (envelope,), _ = spread(worker, build)
        widths.append(float(envelope.mean()))
    assert 0.5 < widths[0] / widths[1] < 2


def test_halves_that_come_out_of_a_list_move_at_each_use(worker):
    """One user finds the value rounded, another unrounded: their difference is not zero."""
    build = GraphBuilder()
    x = build.input(torch.linspace(1, 2, 64, dtype=torch.bfloat16))
    scaled = build.call(aten._foreach_mul.Scalar, [x], 1.7)
    part = build.call(operator.getitem, scaled, 0)
    wide = build.call(prims.convert_element_type.default, part, torch.float32)
    build.output(build.call(aten.sub.Tensor, build.call(aten.mul.Tensor, part, 1.0), wide))
    _, (envelope,), _ = spread(worker, build)
    assert float(envelope.max()) > 2**-9


def test_what_a_running_mean_drifts_over_many_elements_is_not_granted_to_a_variance(worker):
    build = GraphBuilder()
    values = randn(3, 4000) + 1e5
    build.output(build.call(aten.var.correction, build.input(values), [1], correction=1))
    (native,), (envelope,), _ = spread(worker, build)
    assert float((envelope / native.double()).max()) < 1e-4


@pytest.mark.parametrize("op", [aten.var.correction, aten.std.correction])
@pytest.mark.parametrize(("count", "mean"), [(2, 0), (2, 1e3), (2, 1e5), (50, 0), (4000, 0)])
def test_a_variance_spreads_as_welfords_fold_in_float32_does(worker, op, mean, count):
    build = GraphBuilder()
    values = randn(200, count) + mean
    build.output(build.call(op, build.input(values), [1], correction=1))
    _, (envelope,), _ = spread(worker, build)
    running, squares = torch.zeros(200), torch.zeros(200)
    for number, column in enumerate(values.unbind(1), start=1):
        distance = column - running
        running = running + distance / number
        squares = squares + distance * (column - running)
    fold, exact = squares / (count - 1), values.double().var(1)
    if op is aten.std.correction:
        fold, exact = fold.sqrt(), exact.sqrt()
    error = (fold.double() - exact).abs()
    assert float((error <= 4 * envelope).double().mean()) > 0.97
    assert float(envelope.square().mean().sqrt()) < 20 * float(error.square().mean().sqrt())


def test_pinned_decisions_do_not_widen_the_envelope_and_free_ones_part_in_the_span(worker):
    build = GraphBuilder()
    softmax = build.call(aten._softmax.default, build.input(randn(64, 40)), -1, False)
    total = build.call(aten.sum.dim_IntList, softmax, [-1])
    build.output(build.call(aten.floor.default, total))
    _, (envelope,), ((low, high),) = spread(worker, build)
    assert float(envelope.max()) == 0
    assert set(low.tolist()) | set(high.tolist()) == {0.0, 1.0}
    assert bool((low < high).any())


def test_integers_that_hang_on_no_float_have_no_span(worker):
    build = GraphBuilder()
    x = build.input(torch.arange(10))
    build.output(build.call(aten.remainder.Scalar, build.call(aten.mul.Tensor, x, 7), 4))
    (native,), _, ((low, high),) = spread(worker, build)
    same_bits(low, native.double())
    same_bits(high, native.double())


def test_half_precision_moves_by_its_own_units(worker):
    build = GraphBuilder()
    y = build.call(aten.mul.Tensor, build.input(BFLOAT), 1.5)
    build.output(build.call(prims.convert_element_type.default, y, torch.float32))
    (native,), (envelope,), _ = spread(worker, build)
    relative = (envelope / native.double().abs()).nan_to_num()
    assert 2**-9 < float(relative.max()) < 2**-6


def test_in_place_writes_of_one_run_do_not_reach_another(worker):
    build = GraphBuilder()
    target = build.input(torch.zeros(8))
    y = build.call(aten.add.Tensor, target, 1.0)
    build.output(build.call(aten.copy_.default, target, y))
    (native,), (envelope,), ((low, high),) = spread(worker, build)
    same_bits(native, torch.ones(8))
    assert float(envelope.max()) < 1e-6
    assert float((high - low).max()) < 1e-6


@pytest.mark.parametrize("op", [aten.sum.dim_IntList, aten.mean.dim])
def test_a_reduction_into_float64_spreads_as_one_that_adds_up_in_float64(worker, op):
    build = GraphBuilder()
    total = build.call(op, build.input(randn(50, 2000)), [1], dtype=torch.float64)
    build.output(total)
    _, (envelope,), _ = spread(worker, build)
    assert float(envelope.max()) < 1e-10


def test_a_bit_cast_leaves_the_span_to_the_disturbed_runs(worker):
    build = GraphBuilder()
    bits = build.call(aten.view.dtype, build.input(X), torch.int32)
    build.output(build.call(aten.add.Tensor, bits, 1))
    (native,), _, ((low, high),) = spread(worker, build)
    same_bits(low, native.double())
    same_bits(high, native.double())


@pytest.mark.parametrize("is_list", [False, True])
def test_a_product_that_an_addition_rounds_within_shows_where_the_sum_cancels(worker, is_list):
    gradient = randn(10000)
    weight = gradient * 0.1 + 1e-6 * randn(10000)
    build = GraphBuilder()
    w, g = build.input(weight), build.input(gradient)
    if is_list:
        total = build.item(build.call(aten._foreach_add.List, [w], [g], alpha=-0.1), 0)
    else:
        total = build.call(aten.add.Tensor, w, g, alpha=-0.1)
    build.output(total)
    _, (envelope,), _ = spread(worker, build)
    exact = weight.double() + torch.tensor(-0.1).double() * gradient.double()
    rounded_twice = (weight + torch.tensor(-0.1) * gradient).double()
    assert bool(((rounded_twice - exact).abs() <= 4 * envelope + 1e-12).all())


def put(build, row, places, values):
    return build.call(aten.index_put.default, row, [places], values, True)


def put_in_place(build, row, places, values):
    copy = build.call(aten.clone.default, row)
    return build.call(prims._unsafe_index_put_.default, copy, [places], values, True)


def scatter(build, row, places, values):
    return build.call(aten.scatter_add.default, row, 0, places, values)


def add(build, row, places, values):
    return build.call(aten.index_add.default, row, 0, places, values)


@pytest.mark.parametrize("op", [put, put_in_place, scatter, add])
def test_sums_into_few_places_spread_as_additions_in_another_order_do(worker, op):
    count, places = 20000, 4
    index = torch.arange(count) % places
    values = torch.rand(count, generator=torch.Generator().manual_seed(3))
    build = GraphBuilder()
    row = build.input(torch.zeros(places))
    build.output(op(build, row, build.input(index), build.input(values)))
    (native,), (envelope,), _ = spread(worker, build)
    exact = torch.zeros(places, dtype=torch.float64).index_add(0, index, values.double())
    assert torch.allclose(native.double(), exact, rtol=1e-4)
    backwards = torch.zeros(places)
    for place, value in zip(index.flip(0).tolist(), values.flip(0).unbind(), strict=True):
        backwards[place] += value
    error = (backwards.double() - exact).abs()
    assert bool((error <= 4 * envelope).all())
    assert float(envelope.max()) < 100 * float(error.max())


def test_rows_that_are_put_side_by_side_do_not_spread(worker):
    build = GraphBuilder()
    table, rows = build.input(torch.zeros(6, 3)), build.input(randn(4, 3))
    index = build.input(torch.tensor([5, 0, -4, 3]))
    build.output(put(build, table, index, rows))
    (native,), (envelope,), _ = spread(worker, build)
    assert float(envelope.max()) == 0
    same_bits(native[[5, 0, 2, 3]], build.values[1])
