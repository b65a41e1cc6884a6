"""Hand-made functions: each asks capture, slicer and reference for something of its own.

Most return (function to compile, its arguments); a few, which need gradients or other settings,
return the program itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch._dynamo.config
import torch._inductor.config
import torch.nn.functional as F
from entries import Program, register
from torch import nn
from torch._higher_order_ops.while_loop import while_loop

Call = tuple[Callable[..., Any], list[Any]]


def function(make: Callable[[], Call]) -> Callable[[], Call]:
    """Registers the call without gradients."""

    def prepare() -> Program:
        called, args = make()

        def program() -> None:
            with torch.no_grad():
                torch.compile(called)(*args)

        return program

    register(make.__name__, "functions", prepare)
    return make


def program(make: Callable[[], Program]) -> Callable[[], Program]:
    register(make.__name__, "functions", make)
    return make


def tensors(value: Any) -> Iterable[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else value


def with_gradients(called: Callable[..., Any], args: list[Any]) -> Program:
    """Forward and backward, with gradients for every floating-point argument."""

    def run() -> None:
        leaves = [
            arg.requires_grad_()
            if isinstance(arg, torch.Tensor) and arg.is_floating_point()
            else arg
            for arg in args
        ]
        outputs = tensors(torch.compile(called)(*leaves))
        sum(output.sin().sum() for output in outputs).backward()

    return run


# --- Memory: mutation, views, scatters ------------------------------------------------------------


@function
def mutated_inputs():
    def f(x, y):
        x.add_(y)
        z = y * x
        x.mul_(2)
        return z + 1

    return f, [torch.randn(16, 40), torch.randn(16, 40)]


@function
def mutated_slices():
    def f(x):
        y = x + 1
        y[2:5] = x[0:3] * 3
        y[:, 1] += 2
        return y.relu(), x.clone()

    return f, [torch.randn(16, 8)]


@function
def mutated_view_of_input():
    def f(x):
        x.view(-1)[3:20].mul_(2)
        x.t()[1].add_(1)
        return x.sum(0)

    return f, [torch.randn(8, 8)]


@function
def cache_update():
    def f(cache, new, scale):
        cache[:, 3:5] = new * scale
        return (cache * 2).sum(1)

    return f, [torch.randn(4, 8, 6), torch.randn(4, 2, 6), torch.randn(6)]


@function
def aliased_inputs():
    def f(x, y):
        x.add_(1)
        return y * 2

    base = torch.randn(40)
    return f, [base[:30], base[10:]]


@function
def as_strided_aliasing():
    def f(x):
        windows = x.as_strided((6, 4), (3, 1), 1)
        return windows.exp().sum(1), x.as_strided((4, 4), (1, 4)).add(1)

    return f, [torch.randn(32)]


@function
def storage_offsets():
    return lambda x, y: (x[1:, 2:] * y + x[:-1, :-2]).cos(), [
        torch.randn(12, 22)[2:, 2:],
        torch.randn(60)[7:25],
    ]


@function
def views_and_permutes():
    def f(x):
        y = (x.transpose(0, 1).reshape(4, -1) + 1).permute(1, 0)[::2].cos()
        return y, x.flip(0).roll(2, 1) * 2, x.unfold(1, 3, 2).sum(-1)

    return f, [torch.randn(16, 40)]


@function
def outputs_that_are_inputs():
    def f(x):
        y = x + 1
        return x, x.view(-1), y, y[0], y.t(), y

    return f, [torch.randn(8, 4)]


@function
def scatters():
    def f(x, i, v):
        return (
            torch.scatter(x * 2, 0, i, v),
            torch.scatter_add(x + 1, 0, i, v).exp(),
            x.scatter_reduce(0, i, v.abs(), "amax"),
            x.index_add(0, i[:, 0], v),
        )

    return f, [torch.randn(16, 8), torch.randint(0, 16, (5, 8)), torch.randn(5, 8)]


@function
def index_put():
    def f(x, i, v):
        z = x * 2
        z.index_put_((i,), v, accumulate=True)
        x.index_put_((i,), v.cos())
        return z.sin(), x + 1

    return f, [torch.randn(16, 8), torch.tensor([0, 3, 5, 1]), torch.randn(4, 8)]


@function
def masked_writes():
    def f(x, mask, v):
        y = x.exp()
        y[mask] = 0.5
        return y.masked_fill(~mask, -1), torch.where(mask, x, v).masked_scatter(mask, v)

    return f, [torch.randn(9, 7), torch.rand(9, 7) > 0.4, torch.randn(9, 7)]


@function
def gathers():
    def f(x, i, j):
        return x.gather(1, i) + x.take_along_dim(i, 1).cos(), x[j, :, None], x.index_select(0, j)

    return f, [torch.randn(10, 12), torch.randint(0, 12, (10, 5)), torch.tensor([1, -1 + 10, 4])]


@function
def concatenation():
    def f(x, y, w):
        pieces = torch.cat([x.sin() + 1, y.cos(), x], 1)
        return pieces, torch.cat([x @ w, y @ w[:5]], 0).relu(), torch.stack([x, x * 2]).sum(0)

    return f, [torch.randn(16, 8), torch.randn(16, 5), torch.randn(8, 8)]


@function
def padding():
    def f(x):
        y = F.pad(x.sin(), (1, 2), value=0.5)
        return y, F.pad(x, (2, 2, 1, 1), "reflect") * 2, F.pad(x, (1, 1), "circular").sum(-1)

    return f, [torch.randn(2, 6, 8)]


# --- Reductions, scans, sorting -------------------------------------------------------------------


@function
def reductions():
    def f(x):
        return x.var(1), x.std(0), x.prod(1), x.amax(), x.norm(), x.logsumexp(0), x.all(), x.mean()

    return f, [torch.randn(16, 40)]


@function
def large_reductions():
    return lambda x: (x * x).sum() + x.max() - x.cos().mean(), [torch.randn(600, 700)]


@function
def arguments_of_extremes():
    def f(x):
        values, indices = (x * 2).max(1)
        return x.argmax(1), x.argmin(0), x.argmax(), values, indices, x.median(1).values

    return f, [torch.randint(-6, 6, (16, 40)).float()]


@function
def sorting():
    def f(x):
        values, indices = (x * 2).sort(1)
        return values + 1, indices, x.topk(3, 1)[0] * 2, x.sort(0, True)[1]

    return f, [torch.randn(16, 40)]


@function
def scans():
    def f(x):
        return x.cumsum(1), x.exp().cumprod(0), x.logcumsumexp(1), x.cummax(1).values

    return f, [torch.randn(16, 40)]


@function
def normalisations():
    def f(x, scale, bias):
        y = F.layer_norm(x, (40,), scale, bias)
        return y.softmax(-1), F.rms_norm(x, (40,), scale), F.group_norm(x, 4), x.log_softmax(0)

    return f, [torch.randn(16, 40), torch.randn(40), torch.randn(40)]


@function
def searching():
    def f(x, edges):
        return torch.bucketize(x.sin(), edges) + 1, torch.searchsorted(edges, x, right=True) * 2

    return f, [torch.randn(16, 8), torch.linspace(-1, 1, 9)]


# --- Images ---------------------------------------------------------------------------------------


@function
def pooling():
    def f(x):
        y = F.max_pool2d(x.relu(), 3, 2, 1)
        z = F.adaptive_avg_pool2d(x, (5, 3)) + F.adaptive_max_pool2d(x, (5, 3))
        return y.tanh(), F.avg_pool2d(x.sin(), 2, ceil_mode=True), z

    return f, [torch.randn(2, 3, 17, 16)]


@function
def interpolation():
    def f(x):
        return (
            F.interpolate(x.sin(), scale_factor=2, mode="bilinear"),
            F.interpolate(x, size=(9, 5), mode="bicubic", align_corners=True) * 2,
            F.interpolate(x, scale_factor=1.5, mode="nearest").tanh(),
        )

    return f, [torch.randn(2, 3, 12, 10)]


@function
def convolution_channels_last():
    def f(x, w):
        return F.gelu(F.conv2d(x.relu(), w, padding=1)).mean((2, 3))

    x = torch.randn(2, 8, 10, 10).to(memory_format=torch.channels_last)
    return f, [x, torch.randn(16, 8, 3, 3) / 8]


# --- Dtypes ---------------------------------------------------------------------------------------


@function
def integers():
    def f(a, b):
        quotient = (a // b) + (a % b) * (a > b)
        return quotient.where(a != 0, b), (a << 2) ^ (b & 7) | (a >> 1), a.fmod(b), a.abs().sum()

    return f, [torch.randint(-50, 50, (64,)), torch.randint(1, 9, (64,))]


@function
def small_integers():
    def f(a, b):
        return a * b + a, (a.to(torch.int16) * b).sum(0), b.float() / 3, (a - b).clamp(3, 90)

    return f, [
        torch.randint(-128, 128, (6, 35), dtype=torch.int8),
        torch.randint(0, 256, (6, 35), dtype=torch.uint8).to(torch.int8),
    ]


@function
def bools():
    def f(a, b):
        return a & ~b, a ^ b, (a | b).any(0), a.sum(), (a.float() > b).all(1), a.logical_not() + b

    return f, [torch.rand(13, 9) > 0.5, torch.rand(13, 9) > 0.3]


@function
def float16():
    def f(x, y):
        return F.gelu(x * y + 1).softmax(-1), (x.float() @ y.float().t()).half().sum(0)

    return f, [torch.randn(16, 40).half(), torch.randn(16, 40).half()]


@function
def bfloat16():
    def f(x, w):
        y = F.silu(x @ w)
        return y.float().softmax(-1).bfloat16(), F.layer_norm(y * 3, (24,)), y.sum(0)

    return f, [torch.randn(16, 32).bfloat16(), (torch.randn(32, 24) / 32).bfloat16()]


@function
def float8_casts():
    def f(x, scale):
        y = (x * scale).clamp(-448, 448).to(torch.float8_e4m3fn)
        return y, y.float() / scale, x.to(torch.float8_e5m2).to(torch.bfloat16) * 2

    return f, [torch.randn(16, 32), torch.tensor(7.5)]


@function
def float64():
    return lambda x, y: (x.exp() / (1 + y * y)).sum(0) + x.double().erf()[0], [
        torch.randn(16, 24, dtype=torch.float64),
        torch.randn(24, dtype=torch.float64),
    ]


@function
def dtype_changes():
    def f(x):
        y = (x * 10).to(torch.int32)
        return y.to(torch.uint8), x.bool(), x.half().double(), x.bfloat16().view(torch.int16) + 1

    return f, [torch.rand(7, 33)]


@function
def complex_numbers():
    def f(x, y):
        z = torch.complex(x, y)
        return (z * z.conj()).real + 1, torch.view_as_real(z * 2).sum(-1), torch.fft.fft(x).abs()

    return f, [torch.randn(4, 16), torch.randn(4, 16)]


# --- Maths ----------------------------------------------------------------------------------------


@function
def pointwise():
    return lambda x, y: torch.relu(x + y) * y.sigmoid(), [torch.randn(64, 33), torch.randn(33)]


@function
def special_functions():
    def f(x):
        p = x.abs() + 0.1
        y = (
            x.erf()
            + p.lgamma()
            + p.digamma()
            + torch.special.i0(x)
            + torch.special.ndtri(x.sigmoid())
        )
        return y, x.tanh().atanh() + x.asinh() + p.log1p() + x.expm1(), torch.special.bessel_j0(x)

    return f, [torch.randn(16, 33)]


@function
def rounding():
    def f(x):
        y = x * 5
        return y.round(), y.floor() + y.ceil() * 2, y.trunc() + y.frac(), y.fmod(2), y.remainder(-2)

    return f, [torch.cat([torch.randn(60), torch.tensor([0.1, -0.5, 0.3, -0.0])])]


@function
def nan_and_infinity():
    def f(x, y):
        z = x / y
        return (
            z.nan_to_num(1.0),
            z.isnan() | z.isinf(),
            torch.maximum(z, x),
            z.clamp(-1, 1),
            z.sign(),
        )

    y = torch.tensor([0.0, -0.0, 1.0, float("nan"), float("inf"), -float("inf"), 2.0, 0.0])
    return f, [torch.randn(8, 8).round(), y]


@function
def losses():
    def f(x, target, y):
        return (
            F.cross_entropy(x, target, label_smoothing=0.1),
            F.huber_loss(x, y),
            F.kl_div(x, y.exp()),
        )

    return f, [torch.randn(16, 10), torch.randint(0, 10, (16,)), torch.randn(16, 10)]


@function
def matrix_products():
    def f(x, w, b):
        y = F.gelu(x @ w + b) * 2
        return (
            y,
            torch.einsum("bi,bj->bij", y, y).tril().sum(1),
            torch.bmm(y[None], y.t()[None]) + 1,
        )

    return f, [torch.randn(8, 32), torch.randn(32, 24), torch.randn(24)]


@function
def attention():
    def f(x):
        q, k, v = (part.view(2, 8, 4, 8).transpose(1, 2) for part in x.split(32, -1))
        return F.scaled_dot_product_attention(q.cos(), k, v + 1, is_causal=True).sin()

    return f, [torch.randn(2, 8, 96)]


@function
def foreach():
    def f(a, b, c):
        torch._foreach_mul_([a, b, c], 2.0)
        return torch._foreach_add([a, b, c], [a, b, c]), torch._foreach_sqrt([a.abs(), b.abs()])

    return f, [torch.randn(4, 4), torch.randn(7), torch.randn(3, 2)]


@function
def embedding_and_constants():
    own = torch.randn(8)

    def f(i, w):
        return F.embedding(i, w) + own + torch.arange(8) + torch.tensor([1.0, 2, 3, 4, 5, 6, 7, 8])

    return f, [torch.randint(0, 10, (4, 3)), torch.randn(10, 8)]


@function
def no_inputs():
    return lambda: (torch.full((4, 5), 2.5) * 3, torch.eye(5) + torch.linspace(0, 1, 5)), []


# --- Random numbers -------------------------------------------------------------------------------


@function
def random_numbers():
    def f(x):
        y = F.dropout(x, 0.3, True) + torch.rand_like(x)
        return (
            y,
            torch.randn(5, 7) * 2,
            torch.randint(3, 9, (4, 4)) + 1,
            torch.bernoulli(x.sigmoid()),
        )

    return f, [torch.randn(16, 8)]


@function
def random_library_calls():
    def f(x):
        return torch.multinomial(x.softmax(-1), 3) + 1, torch.randperm(16)[:, None] * x

    return f, [torch.randn(16, 8)]


@program
def dropout_gradients():
    return with_gradients(lambda x: F.dropout(x.cos(), 0.4, True) * x, [torch.randn(16, 24)])


# --- Control flow, sizes, settings ----------------------------------------------------------------


@program
def conditional():
    def f(x):
        y = torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x * 2,))
        return y * 3

    def run() -> None:
        compiled = torch.compile(f)
        with torch.no_grad():
            compiled(torch.rand(8, 4))
            compiled(-torch.rand(8, 4))

    return run


@function
def loop():
    def f(x):
        return while_loop(
            lambda i, x: i < 4, lambda i, x: (i + 1, x.sin() + 1), (torch.tensor(0), x)
        )

    return f, [torch.randn(8, 4)]


@function
def graph_breaks():
    def f(x):
        y = x.sin() + 1
        torch._dynamo.graph_break()
        z = y * 2 - x
        if z.sum() > 1e9:
            return z
        return z.cos() + y

    return f, [torch.randn(16, 8)]


@program
def dynamic_sizes():
    def f(x, y):
        halves = (x.view(x.shape[0] * 2, -1) + y.shape[0]).softmax(0) * x.shape[0]
        return halves, torch.arange(y.shape[0]) * y, x[: y.shape[0]].mean(0)

    def run() -> None:
        compiled = torch.compile(f, dynamic=True)
        for rows, columns, length in ((10, 14, 5), (7, 22, 6), (12, 4, 3)):
            compiled(torch.randn(rows, columns), torch.randn(length))

    return run


@program
def size_in_the_data():
    def run() -> None:
        with torch.no_grad(), torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
            torch.compile(lambda x: (x * 2).nonzero().float().sin() + 1)(torch.randn(9, 5).relu())

    return run


@program
def frozen_constants():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10)
    ).eval()
    model[1].running_mean.normal_()
    model[1].running_var.uniform_(0.5, 2)

    def run() -> None:
        with torch.no_grad(), torch._inductor.config.patch(freezing=True):
            torch.compile(model)(torch.randn(2, 3, 8, 8)).softmax(-1)

    return run


@program
def matrix_template():
    """A product that Inductor generates itself, with what follows fused into it."""
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16)).eval()
    settings = {
        "freezing": True,
        "max_autotune": True,
        "max_autotune_gemm_backends": "CPP,ATEN",
        "autotune_in_subproc": False,
    }

    def run() -> None:
        with torch.no_grad(), torch._inductor.config.patch(settings):
            torch.compile(model)(torch.randn(32, 64))

    return run


@program
def autocast():
    model = nn.Sequential(nn.Linear(32, 48), nn.LayerNorm(48), nn.GELU(), nn.Linear(48, 8))

    def run() -> None:
        with torch.autocast("cpu", torch.bfloat16):
            loss = torch.compile(model)(torch.randn(12, 32)).float().square().mean()
        loss.backward()

    return run


# --- Gradients ------------------------------------------------------------------------------------


@program
def pointwise_gradients():
    return with_gradients(
        lambda x, y: F.gelu(x * y) + F.silu(y).softmax(-1), [torch.randn(16, 24), torch.randn(24)]
    )


@program
def embedding_gradients():
    def f(i, w, target):
        return F.cross_entropy(F.embedding(i, w).relu(), target)

    return with_gradients(
        f, [torch.randint(0, 10, (14,)), torch.randn(10, 6), torch.randint(0, 6, (14,))]
    )


@program
def image_gradients():
    def f(x, w):
        y = F.batch_norm(F.conv2d(x, w, padding=1), None, None, training=True).relu()
        return F.max_pool2d(y, 2), F.interpolate(y, scale_factor=2, mode="bilinear")

    return with_gradients(f, [torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3)])


@program
def indexing_gradients():
    def f(x, i):
        return x[i].exp(), x.gather(1, i[:, None].expand(-1, 3)).cumsum(0), x.flip(1)[:, ::2]

    return with_gradients(f, [torch.randn(9, 12), torch.tensor([3, 0, 3, 8])])
