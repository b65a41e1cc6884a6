"""The float64 opinion, against graphs computed in float64 by hand with torch."""

import pytest
import torch
from reference_checks import GraphBuilder, same_bits
from reference_graphs import layout_json
from reference_samples import BFLOAT, IMAGE, X, randn

aten = torch.ops.aten
prims = torch.ops.prims


def run_both(worker, build):
    native, wide = worker.run(build.fragment(), build.values, modes=["native", "float64"])
    assert native.exception == wide.exception == ""
    return native, wide


def check_float64(worker, build, *expected):
    native, wide = run_both(worker, build)
    assert wide.no_oracle == ""
    for mine, actual, value in zip(native.outputs, wide.outputs, expected, strict=True):
        same_bits(actual, value)
        assert actual.stride() == mine.stride()


def test_half_precision_chain_is_not_rounded_in_between(worker):
    build = GraphBuilder()
    x = build.input(BFLOAT)
    y = build.call(prims.convert_element_type.default, x, torch.float32)
    y = build.call(aten.mul.Tensor, y, 1.1)
    y = build.call(prims.convert_element_type.default, y, torch.bfloat16)
    build.output(y, build.call(aten.sum.dim_IntList, y, [1]))
    expected = BFLOAT.double() * 1.1
    check_float64(worker, build, expected, expected.sum(1))


@pytest.mark.parametrize("keyword", [{"dtype": torch.float16}, {"dtype": torch.float32}])
def test_dtype_arguments_are_widened(worker, keyword):
    build = GraphBuilder()
    x = build.input(X)
    build.output(build.call(aten._to_copy.default, x, **keyword))
    build.output(build.call(aten.sum.dim_IntList, x, [1], **keyword))
    build.output(build.call(aten.full.default, [3], 0.1, **keyword))
    wide = X.double()
    check_float64(worker, build, wide, wide.sum(1), torch.full([3], 0.1, dtype=torch.float64))


def test_factories_and_true_division_without_a_dtype_are_float64(worker):
    build = GraphBuilder()
    ints = torch.tensor([1, 2, 5])
    build.output(build.call(aten.full.default, [2], 0.1))
    build.output(build.call(aten.div.Tensor, ints, 3))
    check_float64(worker, build, torch.full([2], 0.1, dtype=torch.float64), ints.double() / 3)


def test_comparisons_decide_as_the_native_run_did(worker):
    build = GraphBuilder()
    x = build.input(torch.ones(4))
    bumped = build.call(aten.add.Tensor, x, 1e-9)  # 1 in float32, more than 1 in float64
    is_greater = build.call(aten.gt.Scalar, bumped, 1.0)
    build.output(is_greater, build.call(aten.where.self, is_greater, bumped, x))
    check_float64(
        worker, build, torch.zeros(4, dtype=torch.bool), torch.ones(4, dtype=torch.float64)
    )


def test_a_number_that_floats_are_compared_with_is_rounded_as_they_are(worker):
    """0.1 is no float32: the nearest one equals the number in eager, and is no border case."""
    build = GraphBuilder()
    x = build.input(torch.tensor([0.1, 0.25, 0.3]))
    build.output(build.call(aten.eq.Scalar, x, 0.1))
    fragment = build.fragment()
    fragment["graph"]["nodes"][0]["values"] = [layout_json(build.values[0])]
    (span,) = worker.run(fragment, build.values, modes=["span"])
    low, high = span.outputs
    same_bits(low.contiguous(), torch.tensor([1.0, 0, 0], dtype=torch.float64))
    same_bits(high.contiguous(), torch.tensor([1.0, 0, 0], dtype=torch.float64))


def test_indices_are_the_native_ones_and_values_float64(worker):
    tied = torch.tensor([[1.0, 1.0], [0.0, 2.0]])
    build = GraphBuilder()
    x = build.call(aten.add.Tensor, build.input(tied), build.input(torch.tensor([0.0, 1e-9])))
    largest = build.call(aten.max.dim, x, 1)
    build.output(build.item(largest, 0), build.item(largest, 1))
    # In float64 the second element of the first row is the larger one.
    check_float64(
        worker, build, torch.tensor([1 + 1e-9, 2 + 1e-9], dtype=torch.float64), torch.tensor([0, 1])
    )


def test_rounding_to_integers_is_the_native_one(worker):
    build = GraphBuilder()
    third = build.call(aten.div.Tensor, build.input(torch.tensor([1.0, 2.0])), 3.0)
    back = build.call(aten.mul.Tensor, third, 3e8)
    build.output(build.call(prims.convert_element_type.default, back, torch.int64))
    native = (torch.tensor([1.0, 2.0]) / 3.0 * 3e8).long()
    check_float64(worker, build, native)


def test_in_place_operators_write_to_the_widened_alias(worker):
    base = randn(4, 6, dtype=torch.float16)
    build = GraphBuilder()
    rows = build.input(base[1:3])
    whole = build.input(base)
    build.output(build.call(aten.mul_.Tensor, rows, 0.3), build.call(aten.add.Tensor, whole, 1))
    expected = base.double()
    expected[1:3] *= 0.3
    check_float64(worker, build, expected[1:3], expected + 1)


def test_strides_are_those_of_the_native_outputs(worker):
    build = GraphBuilder()
    x = build.input(IMAGE.to(memory_format=torch.channels_last))
    build.output(build.call(aten.exp.default, x))
    build.output(
        build.call(
            aten.convolution.default,
            x,
            randn(4, 3, 3, 3),
            None,
            [1, 1],
            [1, 1],
            [1, 1],
            False,
            [0, 0],
            1,
        )
    )
    native, wide = run_both(worker, build)
    for mine, actual in zip(native.outputs, wide.outputs, strict=False):
        assert actual.dtype == torch.float64
        assert actual.stride() == mine.stride()
    same_bits(wide.outputs[0], build.values[0].double().exp())


def test_complex_is_widened_to_complex128(worker):
    value = torch.complex(X, -X)
    build = GraphBuilder()
    build.output(build.call(aten.mul.Tensor, value, 0.1 + 1j))
    check_float64(worker, build, value.to(torch.complex128) * (0.1 + 1j))


def test_parts_of_a_list_are_widened(worker):
    build = GraphBuilder()
    parts = build.call(aten.split.Tensor, build.call(aten.mul.Tensor, build.input(X), 0.1), 3, 1)
    build.output(build.item(parts, 1))
    check_float64(worker, build, (X.double() * 0.1)[:, 3:6])


def test_random_values_are_the_native_ones(worker):
    build = GraphBuilder()
    noise = build.call(prims.inductor_random.default, [64], torch.tensor(7), "rand")
    build.output(noise, build.call(aten.mul.Tensor, noise, 0.1))
    native, wide = run_both(worker, build)
    same_bits(wide.outputs[0], native.outputs[0].double())
    same_bits(wide.outputs[1], native.outputs[0].double() * 0.1)


def test_low_memory_max_pool_has_a_float64_form(worker):
    image = IMAGE.to(torch.bfloat16)
    build = GraphBuilder()
    pool = build.call(
        prims._low_memory_max_pool_with_offsets.default,
        image,
        [2, 2],
        [2, 2],
        [0, 0],
        [1, 1],
        False,
    )
    build.output(build.item(pool, 0))
    check_float64(worker, build, torch.nn.functional.max_pool2d(image.double(), 2))


@pytest.mark.parametrize(
    "target, args, named",
    [
        (aten.view.dtype, [X, torch.int32], "reads the bits of one dtype as another"),
        (aten.nextafter.default, [X, -X], "neighbour"),
        (
            aten._weight_int8pack_mm.default,
            [randn(4, 32), torch.ones(8, 32, dtype=torch.int8), randn(8)],
            "has no float64 form",
        ),
    ],
)
def test_operators_without_a_float64_form_end_the_opinion(worker, target, args, named):
    build = GraphBuilder()
    node = build.call(target, *args)
    build.output(build.call(aten.neg.default, node))
    native, wide = run_both(worker, build)
    assert len(native.outputs) == 1
    assert wide.outputs == []
    assert named in wide.no_oracle
    assert str(target) in wide.no_oracle


def test_bit_casts_between_integers_do_not_end_the_opinion(worker):
    build = GraphBuilder()
    ints = torch.arange(6, dtype=torch.int32)
    build.output(build.call(aten.view.dtype, ints, torch.int16))
    check_float64(worker, build, ints.view(torch.int16))
