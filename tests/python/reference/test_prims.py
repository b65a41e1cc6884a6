"""The C++ forms of the prims are torch's own, bit by bit and stride by stride."""

import numpy
import pytest
import torch
from reference_checks import GraphBuilder, check_call, check_native, same_bits
from reference_samples import BFLOAT, IMAGE, INTS, X, randn
from torch._inductor import inductor_prims

prims = torch.ops.prims
UNIT = torch.rand(4, 9, generator=torch.Generator().manual_seed(3)) * 1.8 - 0.9
POSITIVE = UNIT.abs() + 0.25
OTHER = randn(4, 9)
COMPLEX = torch.complex(UNIT, OTHER)
MORE_INTS = torch.tensor([[2, 3, -4], [7, 1, 5]])

UNARY = {
    **dict.fromkeys(
        [
            "abs",
            "acos",
            "asin",
            "asinh",
            "atan",
            "atanh",
            "bessel_i0",
            "bessel_i0e",
            "bessel_i1",
            "bessel_i1e",
            "bessel_j0",
            "bessel_j1",
            "cbrt",
            "ceil",
            "cos",
            "cosh",
            "erf",
            "erf_inv",
            "erfc",
            "erfcx",
            "exp",
            "exp2",
            "expm1",
            "floor",
            "isfinite",
            "neg",
            "reciprocal",
            "round",
            "sign",
            "signbit",
            "sin",
            "sinh",
            "spherical_bessel_j0",
            "tan",
            "tanh",
            "trunc",
        ],
        UNIT,
    ),
    **dict.fromkeys(
        ["digamma", "lgamma", "log", "log10", "log1p", "log2", "ndtri", "rsqrt", "sqrt", "frexp"],
        POSITIVE,
    ),
    "acosh": POSITIVE + 1,
    "bitwise_not": INTS,
    **dict.fromkeys(["conj_physical", "conj", "imag", "real"], COMPLEX),
}
BINARY = {
    **dict.fromkeys(
        [
            "add",
            "atan2",
            "div",
            "eq",
            "fmax",
            "fmin",
            "fmod",
            "ge",
            "gt",
            "hypot",
            "le",
            "lt",
            "maximum",
            "minimum",
            "mul",
            "ne",
            "nextafter",
            "remainder",
            "sub",
        ],
        (UNIT, OTHER),
    ),
    **dict.fromkeys(["igamma", "igammac", "pow"], (POSITIVE, POSITIVE.flip(0))),
    "zeta": (POSITIVE + 1, POSITIVE),
    **dict.fromkeys(
        ["bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "shift_left", "shift_right_arithmetic"],
        (INTS, MORE_INTS.abs()),
    ),
}
DTYPE = {"dtype": torch.float16, "device": torch.device("cpu"), "requires_grad": False}
OTHERS = {
    "div of ints truncates": ("div", [INTS, MORE_INTS], {}),
    "as_strided": ("as_strided", [X, [3, 2], [7, 2], 1], {}),
    "as_strided_scatter": ("as_strided_scatter", [X, randn(3, 2), [3, 2], [7, 2], 1], {}),
    "broadcast_in_dim": ("broadcast_in_dim", [randn(3, 1), [2, 3, 4, 5], [1, 3]], {}),
    "cat": ("cat", [[X, randn(2, 7)], 0], {}),
    "clone": ("clone", [X.t()], {}),
    "clone in a memory format": ("clone", [IMAGE], {"memory_format": torch.channels_last}),
    "collapse": ("collapse", [IMAGE.permute(0, 2, 3, 1), 1, 3], {}),
    "collapse of a scalar": ("collapse", [randn(), 0, 0], {}),
    "collapse_view": ("collapse_view", [IMAGE, 1, 2], {}),
    "convert_element_type of a transposed tensor": (
        "convert_element_type",
        [X.t(), torch.bfloat16],
        {},
    ),
    "convert_element_type with gaps": ("convert_element_type", [X[:, 1:4], torch.float64], {}),
    "convert_element_type to ints": ("convert_element_type", [BFLOAT * 9, torch.int32], {}),
    "convert_element_type to the same dtype": ("convert_element_type", [X, torch.float32], {}),
    "copy_strided": ("copy_strided", [X, [1, 5]], {}),
    "copy_to": ("copy_to", [torch.zeros(5, 7, dtype=torch.float16), X], {}),
    "fill": ("fill", [X.t(), 2.5], {}),
    "fma": ("fma", [UNIT, OTHER, POSITIVE], {}),
    "full": ("full", [[2, 3], 1.1], DTYPE),
    "full_like": ("full_like", [X.t(), 3], DTYPE),
    "iota": (
        "iota",
        [6],
        {
            "start": 4,
            "step": -3,
            "dtype": torch.int32,
            "device": torch.device("cpu"),
            "requires_grad": False,
        },
    ),
    "resize": ("resize", [torch.empty(0), [0, 3]], {}),
    "rev": ("rev", [IMAGE, [1, 3]], {}),
    "reshape": ("reshape", [X.t(), [5, 7]], {}),
    "scalar_tensor": (
        "scalar_tensor",
        [2.5],
        {"dtype": torch.bfloat16, "device": torch.device("cpu")},
    ),
    "split_dim": ("split_dim", [randn(3, 12), 1, 4], {}),
    "squeeze": ("squeeze", [randn(1, 4, 1, 2), [0, 2]], {}),
    "transpose": ("transpose", [IMAGE, [3, 0, 2, 1]], {}),
    "view_of": ("view_of", [X.t()], {}),
    "view_of_dtype": ("view_of_dtype", [X, torch.int32], {}),
    "where": ("where", [X > 0, X, -X], {}),
    "sum": ("sum", [IMAGE, [1, 3]], {}),
    "prod": ("prod", [IMAGE, [0, 2]], {}),
    "amax": ("amax", [IMAGE, [0, 3]], {}),
    "amin": ("amin", [IMAGE, [2]], {}),
    "var": ("var", [IMAGE, [0, 2, 3], 1.0], {}),
    "var without correction": ("var", [X, [1], 0.0], {}),
    "inductor_force_stride_order": ("inductor_force_stride_order", [IMAGE, [192, 1, 24, 3]], {}),
    "inductor_lookup_seed": ("inductor_lookup_seed", [torch.tensor([5, -6, 7]), 1], {}),
    "prepare_softmax_online": ("prepare_softmax_online", [randn(6, 50), 1], {}),
    "inductor_cvt_e8m0_rceil": ("inductor_cvt_e8m0_rceil", [BFLOAT * 100], {}),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary_prim_equals_torch(worker, name):
    check_call(worker, getattr(prims, name).default, UNARY[name])


@pytest.mark.parametrize("name", BINARY)
def test_binary_prim_equals_torch(worker, name):
    check_call(worker, getattr(prims, name).default, *BINARY[name])


@pytest.mark.parametrize("name", OTHERS)
def test_prim_equals_torch(worker, name):
    prim, args, kwargs = OTHERS[name]
    target = getattr(prims, prim).default
    # Some prims return their argument in eager mode, which torch's own wrapper then refuses.
    check_call(worker, target, *args, reference=target.impl_aten, **kwargs)


def test_device_put_equals_torch(worker):
    check_call(
        worker,
        prims.device_put.default,
        X.t(),
        torch.device("cpu"),
        reference=prims.device_put.default.impl_aten,
    )


def test_unsafe_index_put_equals_torch(worker):
    check_call(
        worker,
        prims._unsafe_index_put_.default,
        X.clone(),
        [torch.tensor([0, 0, 3]), None],
        randn(3, 7),
        True,
        reference=inductor_prims._unsafe_index_put_.impl_aten,
    )


def test_item_is_a_number_for_later_calls(worker):
    build = GraphBuilder()
    number = build.call(prims.item.default, torch.tensor(2.5))
    build.output(build.call(torch.ops.aten.pow.Tensor_Scalar, X, number))
    check_native(worker, build)


@pytest.mark.parametrize(
    "prim, args, strides",
    [
        ("empty", [[2, 3]], (3, 1)),
        ("empty_strided", [[2, 3], [1, 4]], (1, 4)),
        ("empty_permuted", [[2, 3, 4], [1, 2, 0]], (1, 8, 2)),
    ],
)
def test_empty_prim_has_the_asked_layout(worker, prim, args, strides):
    build = GraphBuilder()
    empty = build.call(getattr(prims, prim).default, *args, **DTYPE)
    build.output(empty)
    (run,) = worker.run(build.fragment(), [])
    assert run.outputs[0].stride() == strides
    assert run.outputs[0].shape == tuple(args[0])
    assert run.outputs[0].dtype == torch.float16


@pytest.mark.parametrize("dims", [[0], [1, 2], [0, 2], None])
def test_xor_sum_equals_numpy(worker, dims):
    values = torch.randint(-(2**62), 2**62, (5, 3, 7))
    build = GraphBuilder()
    build.output(build.call(prims.xor_sum.default, values, dims))
    (run,) = worker.run(build.fragment(), build.values)
    axis = None if dims is None else tuple(dims)
    expected = numpy.bitwise_xor.reduce(values.numpy(), axis=axis)
    numpy.testing.assert_array_equal(run.outputs[0].numpy(), expected)


POOLS = {
    "2d": (IMAGE, [3, 3], [2, 2], [1, 1], [1, 1], False),
    "2d dilated, ceil mode": (randn(2, 2, 11, 9), [2, 3], [3, 2], [0, 1], [2, 1], True),
    "2d bfloat16": (IMAGE.to(torch.bfloat16), [2, 2], [2, 2], [0, 0], [1, 1], False),
    "3d": (randn(1, 2, 6, 7, 5), [2, 3, 2], [2, 2, 1], [1, 1, 0], [1, 1, 1], False),
}


@pytest.mark.parametrize("name", POOLS)
def test_low_memory_max_pool_equals_torch(worker, name):
    image, kernel, stride, padding, dilation, _ceil_mode = POOLS[name]
    pool = prims._low_memory_max_pool_with_offsets.default
    check_call(worker, pool, *POOLS[name])
    _, offsets = pool(*POOLS[name])
    check_call(
        worker,
        prims._low_memory_max_pool_offsets_to_indices.default,
        offsets,
        kernel,
        list(image.shape[-len(kernel) :]),
        stride,
        padding,
        dilation,
    )


def philox4x32(key, counter, rounds=10):
    """Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011)."""
    (k0, k1), (c0, c1, c2, c3) = key, counter
    for _ in range(rounds):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (
            (p1 >> 32) ^ c1 ^ k0,
            p1 & 0xFFFFFFFF,
            (p0 >> 32) ^ c3 ^ k1,
            p0 & 0xFFFFFFFF,
        )
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


def test_philox_of_this_file_gives_the_papers_known_answer():
    assert philox4x32((0, 0), (0, 0, 0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)


def words(seed, count):
    drawn = [philox4x32((seed & 0xFFFFFFFF, 0), (i, 0, 0, 0)) for i in range(count)]
    return numpy.array(drawn, dtype=numpy.uint64)


SEED = 0x1234567890


def drawn(worker, prim, *args):
    build = GraphBuilder()
    build.output(build.call(getattr(prims, prim).default, *args))
    (run,) = worker.run(build.fragment(), build.values)
    return run.outputs[0]


def test_inductor_random_rand_is_philox_of_the_seed(worker):
    values = drawn(worker, "inductor_random", [4, 25], torch.tensor(SEED), "rand")
    integers = (words(SEED, 100)[:, 0] & 0x7FFFFFFF).astype(numpy.float32)
    expected = integers * numpy.float32(4.6566127342e-10)
    numpy.testing.assert_array_equal(values.numpy(), expected.reshape(4, 25))


def test_inductor_random_randn_is_box_muller_of_philox(worker):
    values = drawn(worker, "inductor_random", [100], torch.tensor(SEED), "randn")
    first, second = words(SEED, 100).astype(numpy.float64)[:, :2].T
    # at::Philox4_32::randn: u1 = 1 - uint32_to_uniform(first), u2 = 1 - uint32_to_uniform(second)
    u1 = 1 - (first.astype(numpy.uint64) & 0x7FFFFFFF) * 4.6566127342e-10
    u2 = 1 - (second.astype(numpy.uint64) & 0x7FFFFFFF) * 4.6566127342e-10
    expected = numpy.sqrt(-2 * numpy.log(u1)) * numpy.cos(2 * numpy.pi * u2)
    numpy.testing.assert_allclose(values.numpy(), expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("low, high", [(-5, 1000), (-(2**63), 2**63 - 1)])
def test_inductor_randint_is_philox_of_the_seed(worker, low, high):
    values = drawn(worker, "inductor_randint", low, high, [50], torch.tensor(SEED))
    first, second = words(SEED, 50)[:, :2].T.tolist()
    expected = [(a | b << 32) % (high - low) + low for a, b in zip(first, second, strict=True)]
    assert values.tolist() == expected


def compiled_draw(draw):
    """What Inductor's kernel draws, and the seed that it drew from."""
    torch._dynamo.reset()
    compiled = torch.compile(draw)
    torch.manual_seed(11)
    values = compiled()
    torch.manual_seed(11)
    limits = torch.iinfo(torch.int64)
    seeds = torch.randint(limits.min, limits.max, [1])  # as ir.RandomSeeds draws them
    return values, seeds[0]


COUNT = 200_003


@pytest.mark.parametrize("mode", ["rand", "randn"])
def test_inductor_random_equals_inductors_own_kernel_bit_by_bit(worker, mode):
    values, seed = compiled_draw(lambda: getattr(torch, mode)(COUNT))
    same_bits(drawn(worker, "inductor_random", [COUNT], seed, mode), values)


def test_inductor_randint_equals_inductors_own_kernel(worker):
    values, seed = compiled_draw(lambda: torch.randint(-7, 2**40, (COUNT,)))
    same_bits(drawn(worker, "inductor_randint", -7, 2**40, [COUNT], seed), values)
