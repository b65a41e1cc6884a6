"""What every benchmark.py has in common: random inputs by their layout, and the comparison."""

from __future__ import annotations

import pytest
import torch
from fuseproof import script


def made(*arguments, **options) -> torch.Tensor:
    (tensor,) = script.random_tensors([script.TensorSpec("x", *arguments, **options)], "cpu")
    return tensor


@pytest.mark.parametrize(
    ("shape", "stride", "offset"),
    [
        ((2, 3), (3, 1), 0),
        ((2, 3), (1, 2), 0),
        ((2, 3), (0, 1), 5),
        ((2, 0, 3), (3, 3, 1), 4),
        ((), (), 7),
        ((1, 4, 3, 3), (36, 1, 12, 4), 0),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.bool])
def test_a_tensor_has_the_layout_that_is_asked_for(shape, stride, offset, dtype):
    tensor = made(shape, stride, dtype, offset=offset)
    assert (tuple(tensor.shape), tensor.stride(), tensor.storage_offset()) == (
        shape,
        stride,
        offset,
    )
    assert tensor.dtype == dtype


def test_the_same_seed_gives_the_same_values_and_floats_are_standard_normal():
    tensor = made((10000,), (1,), torch.float64)
    assert torch.equal(tensor, made((10000,), (1,), torch.float64))
    # Five standard deviations of the mean and of the variance of 10000 samples.
    assert abs(tensor.mean().item()) < 0.05
    assert abs(tensor.var().item() - 1) < 5 * (2 / 10000) ** 0.5


def test_tensors_of_one_storage_share_memory_whatever_their_dtypes():
    whole = script.TensorSpec("a", (2, 4), (4, 1), torch.float32, storage=1)
    part = script.TensorSpec("b", (2,), (4,), torch.float32, offset=9, storage=1)
    bits = script.TensorSpec("c", (8,), (1,), torch.int32, storage=1)
    other = script.TensorSpec("d", (8,), (1,), torch.float32, storage=2)
    a, b, c, d = script.random_tensors([whole, part, bits, other], "cpu")
    b.zero_()
    a[0, 1] = 1.0
    assert c[1] == 0x3F800000  # the bits of 1.0
    assert a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    assert b.untyped_storage().nbytes() == (9 + 4 + 1) * 4
    assert d.data_ptr() != a.data_ptr()


def test_a_range_holds_and_both_of_its_ends_are_reached_by_integers():
    indices = made((1000,), (1,), torch.int64, low=-2, high=3)
    assert set(indices.tolist()) == {-2, -1, 0, 1, 2, 3}
    variances = made((1000,), (1,), torch.float32, low=0.5, high=2.5)
    assert 0.5 <= variances.min() < 0.6 and 2.4 < variances.max() <= 2.5
    largest = torch.iinfo(torch.int64).max
    assert (made((8,), (1,), torch.int64, low=largest, high=largest) >= largest - 1).all()


def test_bools_are_both_and_complex_numbers_have_both_parts():
    assert set(made((100,), (1,), torch.bool).tolist()) == {False, True}
    assert made((100,), (1,), torch.complex64).imag.abs().max() > 0


def verdict(capsys, expected, actual, names=("add",)) -> tuple[bool, str]:
    passed = script.compare_outputs(names, expected, actual)
    return passed, capsys.readouterr().out


def test_equal_outputs_pass_whatever_their_strides(capsys):
    x = torch.randn(3, 4)
    passed, text = verdict(capsys, (x,), (x.t().contiguous().t(),))
    assert passed and text.startswith("output:add precision PASSED: CosineSim=1.000000")


def test_all_outputs_are_said_and_all_have_to_pass(capsys):
    x = torch.randn(100)
    passed, text = verdict(capsys, (x, x, x), (x, -x, x), ("a", "b", "c"))
    assert not passed
    assert [line.split(":")[1].split()[2] for line in text.splitlines()] == [
        "PASSED",
        "FAILED",
        "PASSED",
    ]


@pytest.mark.parametrize(
    ("expected", "actual", "says"),
    [
        (torch.ones(2), torch.ones(3), "float32[2] was expected, and it is float32[3]"),
        (torch.ones(2), torch.ones(2).double(), "float32[2] was expected, and it is float64[2]"),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), "precision FAILED"),
        (torch.tensor([1.0, torch.nan]), torch.tensor([torch.nan, 1.0]), "precision FAILED"),
    ],
)
def test_another_shape_dtype_integer_or_place_of_nan_fails(capsys, expected, actual, says):
    passed, text = verdict(capsys, (expected,), (actual,))
    assert not passed and says in text


def test_empty_tensors_pass_and_what_is_no_tensor_is_skipped(capsys):
    assert verdict(capsys, (torch.ones(0),), (torch.ones(0),)) == (
        True,
        "output:add precision check passed: empty tensor\n",
    )
    assert verdict(capsys, (3,), (4,)) == (True, "output:add skipped: int is no tensor\n")


def test_views_of_complex_and_quantised_tensors_are_compared_by_their_values(capsys):
    x = torch.randn(8, dtype=torch.complex64)
    assert verdict(capsys, (x.conj(),), (torch.conj_physical(x),))[0]
    assert not verdict(capsys, (x.conj(),), (x,))[0]
    quantised = torch.quantize_per_tensor(torch.arange(4.0), 0.5, 0, torch.quint8)
    assert verdict(capsys, (quantised,), (torch.arange(4.0),))[0]


def test_another_number_of_outputs_fails(capsys):
    assert verdict(capsys, (torch.ones(1),), ()) == (
        False,
        "1 outputs were expected, and there are 0\n",
    )


def check(capsys, run_eager, run_compiled, inputs=()) -> tuple[int, str]:
    fragment = script.Fragment("cpu", list(inputs), ["add"], run_eager, run_compiled)
    return script.check(fragment), capsys.readouterr().out


def test_a_check_gives_both_sides_the_same_inputs_though_one_writes_into_them(capsys):
    spec = script.TensorSpec("x", (4,), (1,), torch.float32)
    status, text = check(capsys, lambda x: (x[0].add_(1),), lambda x: (x[0] + 1,), [spec])
    assert status == 0 and text.endswith("Precision check passed.\n")


def test_what_a_side_raises_fails_the_check_and_is_said_with_the_side(capsys):
    def fail(inputs):
        raise ValueError("odd")

    good = lambda inputs: (torch.ones(1),)  # noqa: E731
    assert check(capsys, fail, good) == (
        1,
        "eager_fn raised ValueError: odd\nPrecision check failed.\n",
    )
    assert check(capsys, good, fail) == (
        1,
        "torch.compile(eager_fn) raised ValueError: odd\nPrecision check failed.\n",
    )
