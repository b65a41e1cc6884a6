"""The reference gives what torch's `aot_eager` gives, bit by bit, for whole graphs of programs."""

import equality
import pytest
import torch
import torch._dynamo.config
import torch.nn.functional as F
from reference_checks import check_graphs
from torch import nn


def called(function, *args):
    return lambda: torch.compile(function)(*args)


def trained(model, optimizer, *inputs):
    """Two steps; optimizers make their state in the first."""

    def program():
        step = torch.compile(optimizer.step)
        with torch.enable_grad():
            for _ in range(2):
                optimizer.zero_grad()
                torch.compile(model)(*inputs).square().mean().backward()
                step()

    return program


def test_a_training_step_with_momentum(compared):
    model = nn.Sequential(nn.Linear(9, 20), nn.GELU(), nn.LayerNorm(20), nn.Linear(20, 3))
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    graphs = compared(trained(model, sgd, torch.randn(6, 9)))
    check_graphs(graphs, "forward", "backward", "forward", "forward")
    assert graphs[0]["calls"] == graphs[1]["calls"] == 2


def test_training_with_dropout(compared):
    torch.backends.mha.set_fastpath_enabled(False)
    layer = nn.TransformerEncoderLayer(16, 2, 24, dropout=0.2, batch_first=True)
    adam = torch.optim.Adam(layer.parameters())
    graphs = compared(trained(layer, adam, torch.randn(3, 7, 16)))
    check_graphs(graphs[:2], "forward", "backward")
    check_graphs(graphs[2:], *["forward"] * len(graphs[2:]))


def test_inputs_that_are_written_into(compared):
    def f(x, y):
        x.add_(y)
        y[1:3] = x[0:2] * 3
        x.t()[1].mul_(2)
        return x.sum(0)

    check_graphs(compared(called(f, torch.randn(6, 5), torch.randn(6, 5))), "forward")


def test_inputs_that_share_memory_at_odd_addresses(compared):
    base = torch.randn(200)

    def f(x, y, z):
        x.mul_(2)
        return (y + z.t()).exp(), z.view(-1)[::3] * 2

    args = [base[1:61].view(6, 10), base[31:91].view(6, 10), base[3:63].view(10, 6)]
    check_graphs(compared(called(f, *args)), "forward")


def test_pieces_put_together_and_indices_written_to(compared):
    def f(x, y, i):
        z = F.pad(torch.cat([x.sin(), y], 1), (1, 2), value=0.5)
        z.index_put_((i,), y.new_ones(()), accumulate=True)
        return z, F.pad(x[None], (2, 1), "reflect"), z.gather(0, i[:, None])

    args = [torch.randn(8, 5), torch.randn(8, 3), torch.tensor([0, 3, 3, 7])]
    check_graphs(compared(called(f, *args)), "forward")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(compared, dtype):
    def f(x, w):
        return F.layer_norm(F.gelu(x @ w), (24,)).softmax(-1), (x * 3 + 1).sum(0)

    check_graphs(
        compared(called(f, torch.randn(9, 32).to(dtype), torch.randn(32, 24).to(dtype))), "forward"
    )


def test_convolutions_and_their_gradients(compared):
    weight = torch.randn(8, 4, 3, 3, requires_grad=True)
    image = torch.randn(2, 4, 11, 9, requires_grad=True)

    def f(x, w):
        return F.max_pool2d(F.batch_norm(F.conv2d(x, w, padding=1), None, None, training=True), 2)

    def program():
        with torch.enable_grad():
            torch.compile(f)(image, weight).square().sum().backward()

    check_graphs(compared(program), "forward", "backward")


def test_sizes_that_are_symbols(compared):
    def f(x, y):
        return torch.arange(y.shape[0]) * y.sum() + x.shape[1] / 3, x.reshape(-1, x.shape[0]).mean(
            0
        )

    def program():
        compiled = torch.compile(f, dynamic=True)
        compiled(torch.randn(6, 8), torch.randn(5))
        compiled(torch.randn(4, 10), torch.randn(7))

    check_graphs(compared(program), "forward")


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_sums_follow_the_number_of_threads(compared, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        check_graphs(
            compared(called(lambda x: (x.sum(), x.sum(0)), torch.randn(300, 700))), "forward"
        )
    finally:
        torch.set_num_threads(before)


def test_denormals_are_flushed_where_the_program_flushes_them(compared):
    torch.set_flush_denormal(True)
    try:
        check_graphs(compared(called(lambda x: x * 0.5, torch.full((40,), 1.5e-38))), "forward")
    finally:
        torch.set_flush_denormal(False)


@pytest.mark.parametrize("precision", ["highest", "medium"])
def test_products_follow_the_matmul_precision(compared, precision):
    torch.set_float32_matmul_precision(precision)
    try:
        check_graphs(
            compared(called(torch.mm, torch.randn(64, 80), torch.randn(80, 32))), "forward"
        )
    finally:
        torch.set_float32_matmul_precision("highest")


def test_results_follow_the_default_dtype(compared):
    torch.set_default_dtype(torch.float64)
    try:
        check_graphs(
            compared(called(lambda n: (n / 3, n.new_ones(4) * 0.1), torch.arange(9))), "forward"
        )
    finally:
        torch.set_default_dtype(torch.float32)


def test_sizes_that_only_the_data_shows(compared):
    def f(x, y):
        found = x.relu().nonzero()
        count = y.sum().item()
        return found.float().sin() + 1, torch.arange(count * 2 + 1) % (found.shape[0] + 3)

    settings = {"capture_dynamic_output_shape_ops": True, "capture_scalar_outputs": True}
    with torch._dynamo.config.patch(settings):
        check_graphs(compared(called(f, torch.randn(9, 5), torch.tensor([2, 3]))), "forward")


def test_other_random_numbers_are_found(compared, monkeypatch):
    other = torch.Generator().manual_seed(5).get_state()
    monkeypatch.setattr(torch, "get_rng_state", lambda: other)
    (graph,) = compared(called(lambda x: F.dropout(x, 0.5) + 1, torch.randn(8, 8)))
    (found,) = graph["differences"]
    assert found["target"] == "aten.add.Tensor"
    assert "other bits" in found["reason"]


def test_what_the_reference_refuses_is_named(compared):
    def f(x):
        return torch.cond(x.sum() > 0, lambda x: x + torch.tensor(3.0), lambda x: x.cos(), (x,))

    (graph,) = compared(called(f, torch.randn(4)))
    (refused,) = graph["differences"]
    assert refused["target"] == "python:torch.ops.higher_order.cond"
    assert "node `_tensor_constant0` of its graph `true_graph_0`: a constant" in refused["reason"]


def test_other_bits_are_a_difference():
    exact = torch.tensor([1.0, 2.0, float("nan")])
    other = exact.clone()
    assert equality.difference(other, exact) == ""
    other.view(torch.int32)[2] ^= 1  # another NaN
    assert equality.difference(other, exact) == "1 of 3 elements have other bits"
    assert "dtype" in equality.difference(exact.double(), exact)
    assert "shape" in equality.difference(exact[None], exact)
    assert "strides" in equality.difference(torch.empty(6)[::2], exact)
