"""Small functions after the kind of fault that a public report describes, with fixed inputs.

`verdicts` are the ones that a check of the kernels may give with torch 2.13.0 on a CPU with AVX-512
where eager and compiled differ; on a CPU where they agree, `match` is right. Measured by running
eager, the lowered graph in eager, and the compiled function side by side, without Fuseproof. A
fault that the graph already has when it is lowered is a `match` of its kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

INF, NAN = float("inf"), float("nan")


@dataclass(frozen=True)
class Case:
    function: Callable[..., Any]
    inputs: Callable[[], tuple[Any, ...]]
    verdicts: tuple[str, ...]


CASES: dict[str, Case] = {}


def case(*verdicts: str, inputs: Callable[[], tuple[Any, ...]]) -> Callable[[Any], Any]:
    def add(function: Any) -> Any:
        CASES[function.__name__] = Case(function, inputs, verdicts)
        return function

    return add


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@case("match", inputs=lambda: (torch.tensor([[1.0, 2.0] * 20, [2.0, NAN] * 20]),))
def amax_nan_rows(x):
    return x.amax(1), x.amin(0)


@case("kernel_wrong", inputs=lambda: (torch.tensor([[0, 3], [0, 0]], dtype=torch.uint8),))
def any_uint8_dtype(flags):
    """pytorch#198081: any() on uint8 loses its dtype, so that the wrapping arithmetic changes."""
    return torch.any(flags) * 200 + 100


@case("match", inputs=lambda: (torch.randn(5, 7, generator=seeded()),))
def argmax_transposed(x):
    x = x.clone()
    x.sin_()
    return x.t().argmax()


@case("match", inputs=lambda: (torch.zeros(3, 4), torch.arange(12.0).view(3, 4)))
def copy_then_bump_source(dst, src):
    """pytorch#198131: the graph already stores the bumped source."""
    dst[0:, :] = src[0:, :]
    src.add_(1)
    return src * 2


@case("match", inputs=lambda: (torch.tensor([[-0.87, 0.11]], dtype=torch.float64),))
def duplicate_index_iadd(x):
    x[[0, 0]] += x[[0, 0]]
    return x


@case("kernel_wrong", inputs=lambda: (torch.tensor([-0.0, 0.0, 0.5] * 8),))
def expm1_signed_zero(x):
    """pytorch#191038: expm1(-0.0) loses its sign."""
    return torch.copysign(torch.ones_like(x), torch.expm1(x))


@case(
    "kernel_wrong",
    inputs=lambda: (
        torch.tensor([1.0, 0.5, 6.0, 3.0] * 4),
        torch.tensor([0.1, 0.1, 0.2, 0.1] * 4),
    ),
)
def floor_divide_off_by_one(price, step):
    """pytorch#197895: one too high where the quotient rounds up to an integer."""
    return price // step


@case("precision_casts", inputs=lambda: (torch.full((64,), 300.0).half(),))
def fp16_square_then_divide(x):
    """pytorch#185337: float32 between fused ops keeps what float16 overflows."""
    return (x * x) / x


@case("match", inputs=lambda: (torch.tensor([INF, -INF, 0.5, -3.0] * 8),))
def gelu_minus_inf(x):
    return F.gelu(x)


def far_grid() -> tuple[torch.Tensor, torch.Tensor]:
    grid = torch.randn(1, 4, 4, 2, generator=seeded()) * 1.5
    grid[0, 3, 0, 0] = 1e10
    return torch.randn(1, 2, 5, 5, generator=seeded()), grid


@case("match", inputs=far_grid)
def grid_sample_far_reflection(x, grid):
    return F.grid_sample(x, grid, mode="bilinear", padding_mode="reflection", align_corners=True)


@case("precision_casts", inputs=lambda: (torch.tensor([1e6, 70000.0, 449.0, -1e6] * 8),))
def half_round_trip_overflow(x):
    """pytorch#185337: the round trip through float16 skips its overflow."""
    return x.half().float() + 1


@case("match", inputs=lambda: (torch.randn(5, 4, generator=seeded()), torch.tensor([0, -1])))
def index_select_negative(x, i):
    """pytorch#169779: eager raises; the lowered graph wraps around, and its kernel with it."""
    return torch.index_select(x, 0, i) * 2


@case(
    "kernel_wrong",
    inputs=lambda: (torch.tensor([-32768, 32767, -1, 5] * 16, dtype=torch.int16),),
)
def int16_abs_then_float(x):
    """pytorch#105264: no wrap between fused ops."""
    return x.abs().float()


@case(
    "kernel_wrong",
    inputs=lambda: (torch.randint(3, 120, (200,), generator=seeded()).to(torch.int8),),
)
def int8_min_leaks_zero(x):
    """pytorch#191499: min of positive int8 values comes back 0."""
    return x.min()


@case("match", inputs=lambda: (torch.arange(6).reshape(2, 3), torch.tensor([16, 16, 16])))
def int_mod_odd_tail(a, n):
    return a % n


@case("match", inputs=lambda: (torch.arange(12.0).reshape(1, 1, 3, 4),))
def interpolate_nearest_kept_dim(x):
    """pytorch#198201: the decomposition resamples a dimension that keeps its size."""
    return F.interpolate(x, scale_factor=(1.3, 1.5), mode="nearest")


@case(
    "kernel_wrong",
    inputs=lambda: (torch.ones(16), torch.full((16,), 2**31 - 1, dtype=torch.int32)),
)
def ldexp_large_exponent(x, e):
    return torch.ldexp(x, e)


@case("match", inputs=lambda: (torch.tensor([INF, NAN, -1.0, 2.0] * 4),))
def mul_int_zero_drops_nan(x):
    """pytorch PR#187580: a graph pass folds x * 0."""
    return x * 0 + 1


@case("kernel_wrong", inputs=lambda: (torch.tensor([-0.0, -INF, 4.0, 0.25] * 8),))
def pow_minus_half_specials(x):
    return x**-0.5


def infinite_divisors() -> tuple[torch.Tensor, torch.Tensor]:
    a = torch.randn(32, generator=seeded()) * 4
    b = torch.full((32,), INF)
    b[::3] = 1.5
    return a, b


@case("kernel_wrong", inputs=infinite_divisors)
def remainder_inf_divisor(a, b):
    """pytorch#198057: NaN when the divisor is infinite, in vector code."""
    return torch.remainder(a, b)


@case(
    "match",
    inputs=lambda: (torch.tensor([1000, -1000] * 8), torch.tensor([64, 70] * 8)),
)
def shift_past_width(x, n):
    return x >> n, x << n


@case("kernel_wrong", inputs=lambda: (torch.randn(6, 16, generator=seeded()),))
def shift_rows_in_place(x):
    """pytorch#197829: rows are read after they were written."""
    x[1:] = x[:-1].clone()
    return x.sum(1)


@case("noise_magnified", inputs=lambda: (torch.randn(64, 40, generator=seeded()),))
def softmax_sum_folded(x):
    """pytorch#189787: floor decides on the last bit of a sum that is 1 but for rounding."""
    return torch.floor(torch.softmax(x, -1).sum(-1))


@case("match", inputs=lambda: (torch.randn(4, 3), torch.randn(3, 5), torch.randn(4, 2)))
def cat_with_a_product_between(x, w, y):
    """The middle piece of the result is written by mm, not by the kernel."""
    return torch.cat([x + 1, x @ w, y], 1)


@case("match", inputs=lambda: (torch.randn(64, 100), torch.arange(64)))
def cross_entropy(x, target):
    """A store that only its own loop reads is left out of the kernel."""
    return F.cross_entropy(x, target)


@case("match", inputs=lambda: (torch.randn(2000, 64, generator=seeded()),))
def layer_norm_with_cancelling_means(x):
    """Means near zero: the lanes of a vector add up otherwise than ATen's cascade."""
    return F.layer_norm(x, (64,))


@case("match", inputs=lambda: (torch.randn(1000, 100, generator=seeded()),))
def sum_of_cancelling_columns(x):
    return x.sum(0)


def half_operands() -> tuple[torch.Tensor, ...]:
    return tuple(torch.randn(20000, generator=seeded()).roll(i).bfloat16() for i in range(3))


@case("precision_casts", inputs=half_operands)
def branch_decided_by_half_precision(x, y, z):
    """The kernel compares in float32 where eager compares what bfloat16 rounded."""
    return torch.where(x * y + z > x * 0.5, x, y * 100)


def half_rows() -> tuple[torch.Tensor, ...]:
    return tuple(torch.randn(shape, generator=seeded()).half() for shape in ((64, 96), (96,)))


@case("match", inputs=half_rows)
def softmax_of_a_rounded_result(x, b):
    """The row's maximum is taken before rounding, which cancels in the result of the softmax."""
    y = F.silu(x + b) * x
    return y, torch.softmax(y, -1)


def tiled_input() -> tuple[torch.Tensor]:
    x = torch.randn(1, 8, 66, 66, generator=seeded())
    return (x.contiguous(memory_format=torch.channels_last),)


@case("out_of_bounds", "crashed", inputs=tiled_input)
def tiled_reduction_tail_store(x):
    """pytorch#196681: a full vector is stored in the tail."""
    v = (x * 0.5) * (torch.erf(x * 0.7071) + 1)
    p = F.pad(v.permute(3, 2, 1, 0), (0, 0, 0, 58), value=0.5)
    q = F.pad(v, (0, 0, 0, 0, 0, 58), value=0.5)
    return torch.matmul(q, p)


def out_of_range() -> tuple[torch.Tensor]:
    return (torch.tensor([1.5, 200.0, -200.0, 300.0, -300.0, 1000.0, -2.2, 0.0] * 8),)


@case("unspecified", inputs=out_of_range)
def to_int8_saturates(x):
    """pytorch#196034: vector code saturates where eager wraps; C++ leaves it open."""
    return x.to(torch.int8)


@case("match", inputs=lambda: (torch.randn(2, 2, generator=seeded()),))
def uint8_neg_plus_float(x):
    return torch.neg(torch.tensor(7, dtype=torch.uint8)) + x


@case("kernel_wrong", inputs=lambda: (torch.randn(3, 4000, generator=seeded()) + 1e5,))
def var_offset_mean(x):
    """pytorch#197089: variance of data with a large mean."""
    return x.var(1)


@case("did_not_build", inputs=lambda: (torch.tensor([0, 1, 0, 1] * 20, dtype=torch.uint8),))
def view_as_bool_compile_error(x):
    """like pytorch#178095: the generated C++ is refused by the compiler."""
    return x.view(torch.bool).float() * 2
