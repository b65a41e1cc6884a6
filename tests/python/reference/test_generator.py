"""Operators that draw: from the call's generator state the reference draws what eager drew."""

import pytest
import torch
from reference_checks import GraphBuilder, copies, same_bits
from reference_samples import X, randn
from reference_worker import WorkerError

aten = torch.ops.aten

DRAWS = {
    "rand": (aten.rand.default, [[5, 7]]),
    "randn of few": (aten.randn.default, [[7]]),
    "randn of many": (aten.randn.default, [[300]]),
    "randint": (aten.randint.low, [3, 90, [40]]),
    "randperm": (aten.randperm.default, [50]),
    "rand_like in half precision": (aten.rand_like.default, [X.half()]),
    "bernoulli of probabilities": (aten.bernoulli.default, [torch.rand(6, 9)]),
    "bernoulli of one probability": (aten.bernoulli.p, [X, 0.3]),
    "dropout": (aten.native_dropout.default, [randn(20, 30), 0.4, True]),
    "multinomial": (aten.multinomial.default, [torch.rand(4, 8), 3]),
    "normal": (aten.normal.Tensor_Tensor, [randn(40), torch.rand(40)]),
    "poisson": (aten.poisson.default, [torch.rand(30) * 9]),
    "exponential": (aten.exponential.default, [X]),
    "in place": (aten.uniform_.default, [randn(33)]),
}


def drawing(target, args):
    builder = GraphBuilder()
    node = builder.call(target, *args)
    is_pair = target is aten.native_dropout.default
    builder.output(*([builder.item(node, 0), builder.item(node, 1)] if is_pair else [node]))
    return builder


@pytest.mark.parametrize("draw", DRAWS)
def test_the_reference_draws_what_eager_draws(worker, draw):
    torch.manual_seed(7)
    torch.randn(3)  # leaves the generator in the middle of its numbers
    state = torch.get_rng_state()
    builder = drawing(*DRAWS[draw])
    (run,) = worker.run(builder.fragment(), builder.values, generator=state)
    assert run.exception == ""
    for actual, value in zip(run.outputs, builder.eager(), strict=True):
        same_bits(actual, value)


def test_draws_follow_one_another_from_the_state_on(worker):
    state = torch.get_rng_state()
    builder = GraphBuilder()
    builder.output(builder.call(aten.rand.default, [4]), builder.call(aten.randn.default, [4]))
    first, second = (
        worker.run(builder.fragment(), [], generator=state)[0].outputs for _ in range(2)
    )
    for actual, again, value in zip(first, second, builder.eager(), strict=True):
        same_bits(actual, value)
        same_bits(again, value)


def test_each_run_of_a_request_draws_the_same(worker):
    builder = drawing(aten.bernoulli.p, [randn(50), 0.5])
    state = torch.get_rng_state()
    native, wide = worker.run(
        builder.fragment(), builder.values, modes=["native", "float64"], generator=state
    )
    (value,) = builder.eager()
    same_bits(native.outputs[0], value)
    same_bits(wide.outputs[0], value.double())
    opened, *_ = worker.run(builder.fragment(), builder.values, modes=["open"], generator=state)
    assert not opened.outputs or not opened.outputs[0].any()


def test_a_state_of_another_size_is_bad_input(worker):
    builder = drawing(aten.rand_like.default, [X])
    with pytest.raises(WorkerError, match="generator state") as caught:
        worker.run(builder.fragment(), copies([X]), generator=torch.zeros(12, dtype=torch.uint8))
    assert caught.value.kind == "bad_input"
