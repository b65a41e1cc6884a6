"""Operators of higher order, which call graphs (cond, while_loop, scan, map): in whole graphs the
reference gives what `aot_eager` gives, bit by bit."""

import pytest
import torch
import torch.nn.functional as F
from reference_checks import check_graphs
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

COND = "python:torch.ops.higher_order.cond"


def both_branches(function, *more, **options):
    """A program that calls the function with a first argument whose sum is positive, and one whose
    sum is negative."""

    def program():
        compiled = torch.compile(function, **options)
        compiled(torch.rand(8, 4), *more)
        compiled(-torch.rand(8, 4), *more)

    return program


def check_both(graphs, *kinds, node=COND):
    check_graphs(graphs, *kinds)
    for graph in graphs:
        assert graph["calls"] == 2
        assert graph["python_nodes"] == [node]


@pytest.mark.parametrize("dynamic", [False, True])
def test_each_branch_of_a_cond(compared, dynamic):
    weight = torch.randn(4)

    def f(x):
        y = torch.cond(
            x.sum() > 0,
            lambda x: (x * weight).softmax(-1) * x.shape[0],
            lambda x: F.gelu(x - 1) / x.shape[0],
            (x * 2,),
        )
        return y * 3

    check_both(compared(both_branches(f, dynamic=dynamic)), "forward")


def test_branches_that_give_several_tensors(compared):
    def f(x, y):
        return torch.cond(
            x.sum() > 0,
            lambda x, y: (x @ y, y.sum(0), x.t() + 0),
            lambda x, y: ((x - 1) @ y, y.mean(0), x.t() * 2),
            (x, y),
        )

    check_both(compared(both_branches(f, torch.randn(4, 3))), "forward")


@pytest.mark.parametrize("factors", [(1.0, 0.1), (0.1, -1.0)])
def test_a_cond_in_a_branch_of_another(compared, factors):
    def inner(x):
        return torch.cond(x.max() > 1, lambda x: x.sin() + x.sum(0), lambda x: x - 3, (x,))

    def f(x):
        return torch.cond(x.sum() > 0, inner, lambda x: x.cos() - 1, (x * 2,)) + 1

    def program():
        compiled = torch.compile(f)
        for factor in factors:
            compiled(factor * torch.rand(8, 4))

    check_both(compared(program), "forward")


def test_a_predicate_that_is_a_size(compared):
    def f(x):
        return torch.cond(x.shape[0] > 5, lambda x: x.sin(), lambda x: x.cos(), (x,))

    def program():
        compiled = torch.compile(f, dynamic=True)
        for rows in (8, 3):
            compiled(torch.randn(rows, 4))

    check_both(compared(program), "forward")


def test_a_gradient_through_a_cond(compared):
    def f(x, w):
        return torch.cond(
            x.sum() > 0, lambda x, w: (x @ w).tanh(), lambda x, w: x.exp() @ w, (x, w)
        )

    weight = torch.randn(4, 3, requires_grad=True)

    def program():
        compiled = torch.compile(f)
        with torch.enable_grad():
            for sign in (1, -1):
                compiled(sign * torch.rand(8, 4), weight).square().sum().backward()

    check_both(compared(program), "forward", "backward")


def test_random_numbers_in_a_branch_are_eagers(compared):
    def f(x):
        y = torch.cond(x.sum() > 0, lambda x: F.dropout(x, 0.5), lambda x: x.sin(), (x,))
        return y + torch.rand_like(y)

    check_both(compared(both_branches(f)), "forward")


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_while_loop(compared, dynamic):
    weight = torch.randn(4)

    def f(x):
        rounds = x.shape[0] // 2
        return while_loop(
            lambda i, x: i < rounds,
            lambda i, x: (i + 1, x.sin() + weight * x.mean()),
            (torch.tensor(0), x),
        )

    def program():
        compiled = torch.compile(f, dynamic=dynamic)
        compiled(torch.randn(8, 4))
        compiled(torch.randn(6 if dynamic else 8, 4))

    check_both(compared(program), "forward", node="python:torch.ops.higher_order.while_loop")


def test_a_while_loop_over_a_number(compared):
    def f(x):
        return while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x.sin() + 1), (0, x))

    check_both(
        compared(both_branches(f)), "forward", node="python:torch.ops.higher_order.while_loop"
    )


def test_a_scan(compared):
    def f(x):
        return scan(lambda c, x: (c + x, (c * x).sin()), torch.zeros(4), x, dim=0)

    check_both(compared(both_branches(f)), "forward", node="python:torch.ops.higher_order.scan")


def test_a_map(compared):
    def f(x):
        return torch_map(lambda row, y: row.cumsum(0) + y, x, x.sum(0))

    check_both(compared(both_branches(f)), "forward", node="python:torch.ops.higher_order.map_impl")


def test_a_branch_that_writes_into_an_operand_is_refused(compared):
    def written(x):
        x.add_(1)
        return x.sin()

    def f(x):
        return torch.cond(x.sum() > 0, written, lambda x: x.cos(), (x * 1,))

    (graph,) = compared(both_branches(f))
    assert len(graph["differences"]) == 2
    for refused in graph["differences"]:
        assert refused["target"] == "python:torch.ops.higher_order.auto_functionalized_v2"
        assert "a graph that `cond` calls writes into an operand" in refused["reason"]
