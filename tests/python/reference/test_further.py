"""What a fragment gives without half-precision rounding, and where PyTorch leaves a result open."""

import pytest
import torch
from reference_checks import GraphBuilder, same_bits
from reference_graphs import layout_json

aten = torch.ops.aten
prims = torch.ops.prims


def outputs(worker, build, mode):
    (run,) = worker.run(build.fragment(), build.values, modes=[mode])
    assert run.exception == ""
    return run.outputs


def test_without_rounding_halves_are_float32_from_op_to_op(worker):
    build = GraphBuilder()
    x = build.input(torch.tensor([300.0, 3.1, -0.7], dtype=torch.float16))
    y = build.input(torch.tensor([300.0, 1.3, 1e-3], dtype=torch.float16))
    build.output(build.call(aten.div.Tensor, build.call(aten.mul.Tensor, x, y), y))
    unrounded, _ = outputs(worker, build, "unrounded")
    wide = [value.float() for value in build.values]
    same_bits(unrounded, (wide[0] * wide[1] / wide[1]).half())


def test_without_rounding_a_cast_to_half_and_back_keeps_the_value(worker):
    build = GraphBuilder()
    x = build.input(torch.tensor([1e6, 0.1]))
    half = build.call(prims.convert_element_type.default, x, torch.float16)
    build.output(build.call(prims.convert_element_type.default, half, torch.float32))
    unrounded, _ = outputs(worker, build, "unrounded")
    same_bits(unrounded, torch.tensor([1e6, 0.1]))


def test_whoever_uses_what_a_kernel_has_stored_in_half_precision_finds_it_rounded(worker):
    build = GraphBuilder()
    x = build.input(torch.tensor([300.0, 3.1, -0.7], dtype=torch.bfloat16))
    stored = build.call(aten.mul.Tensor, build.call(aten.exp.default, x), 1.7)
    build.output(stored)
    build.output(build.call(aten.mul.Tensor, build.call(aten.mul.Tensor, stored, 1.3), 1.1))
    first, first_stored, free, after_store = outputs(worker, build, "unrounded")
    product = build.values[0].float().exp() * 1.7
    same_bits(first, product.bfloat16())
    same_bits(first_stored, product.bfloat16())
    same_bits(free, (product * 1.3 * 1.1).bfloat16())
    same_bits(after_store, (product.bfloat16().float() * 1.3 * 1.1).bfloat16())


def test_an_integer_that_is_written_in_place_beside_halves_is_there_after_the_run(worker):
    """As BatchNorm's count of batches is, in a kernel that works on halves."""
    build = GraphBuilder()
    count = build.input(torch.arange(100000))
    x = build.input(torch.tensor([300.0, 3.1], dtype=torch.bfloat16))
    build.output(
        build.call(aten.copy_.default, count, build.call(aten.add.Tensor, count, 1)),
    )
    build.output(build.call(aten.exp.default, build.call(aten.mul.Tensor, x, 1.7)))
    counted, *_ = outputs(worker, build, "unrounded")
    same_bits(counted, torch.arange(1, 100001))


def test_without_halves_the_unrounded_run_is_the_native_one(worker):
    build = GraphBuilder()
    x = build.input(torch.linspace(-3, 3, 100, dtype=torch.float64))
    build.output(build.call(aten.exp.default, x))
    same_bits(outputs(worker, build, "unrounded")[0], outputs(worker, build, "native")[0])


def test_a_number_that_halves_are_compared_with_is_rounded_as_they_are(worker):
    build = GraphBuilder()
    x = build.input(torch.tensor([0.1, 0.0996, 0.1006], dtype=torch.bfloat16))
    build.output(build.call(aten.gt.Scalar, x, 0.1))
    fragment = build.fragment()
    fragment["graph"]["nodes"][0]["values"] = [layout_json(build.values[0])]
    expected = build.values[0] > torch.tensor(0.1, dtype=torch.bfloat16)
    native, unrounded = worker.run(fragment, build.values, modes=["native", "unrounded"])
    for result in native.outputs + unrounded.outputs:
        same_bits(result, expected)


def test_casts_of_floats_that_do_not_fit_are_open(worker):
    values = [1.5, 127.9, 128.0, -128.9, -129.0, float("nan"), float("inf"), -0.5]
    fits = [True, True, False, True, False, False, False, True]
    build = GraphBuilder()
    x = build.input(torch.tensor(values))
    build.output(build.call(prims.convert_element_type.default, x, torch.int8))
    (is_open,) = outputs(worker, build, "open")
    assert is_open.tolist() == [not fit for fit in fits]


def test_what_is_computed_from_an_open_result_is_open_and_nothing_else(worker):
    build = GraphBuilder()
    x = build.input(torch.tensor([[1e30, 2.0], [3.0, 4.0]]))
    integers = build.call(prims.convert_element_type.default, x, torch.int32)
    build.output(build.call(aten.sum.dim_IntList, integers, [1]))
    (is_open,) = outputs(worker, build, "open")
    assert is_open.tolist() == [True, False]


def test_shifts_past_the_width_are_open(worker):
    build = GraphBuilder()
    x = build.input(torch.tensor([1, 1, 1, 1], dtype=torch.int32))
    shift = build.input(torch.tensor([0, 31, 32, -1], dtype=torch.int32))
    build.output(build.call(aten.bitwise_left_shift.Tensor, x, shift))
    (is_open,) = outputs(worker, build, "open")
    assert is_open.tolist() == [False, False, True, True]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64, torch.int64])
def test_what_is_left_of_an_empty_tensor_is_open(worker, dtype):
    build = GraphBuilder()
    x = build.input(torch.tensor([1, 2], dtype=dtype))
    empty = build.call(aten.empty_strided.default, [4], [1], dtype=dtype)
    build.output(build.call(aten.slice_scatter.default, empty, x, 0, 1, 3))
    (is_open,) = outputs(worker, build, "open")
    assert is_open.tolist() == [True, False, False, True]
    first, second = (outputs(worker, build, "native")[0] for _ in range(2))
    same_bits(first, second)


def test_an_empty_tensor_that_is_overwritten_leaves_nothing_open(worker):
    build = GraphBuilder()
    x = build.input(torch.tensor([True, False]))
    empty = build.call(aten.empty_strided.default, [2], [1], dtype=torch.bool)
    build.output(build.call(aten.copy.default, empty, x))
    (is_open,) = outputs(worker, build, "open")
    assert is_open.tolist() == [False, False]


def test_a_fragment_without_open_results_has_none(worker):
    build = GraphBuilder()
    build.output(build.call(aten.exp.default, build.input(torch.tensor([1.0, 2.0]))))
    (is_open,) = outputs(worker, build, "open")
    assert is_open.tolist() == [False, False]
