"""Python's arithmetic on numbers that the graph computes from data equals Python's."""

import operator

import pytest
import torch
from reference_worker import WorkerError

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.eq, operator.ne,
    operator.lt, operator.le, operator.gt, operator.ge, torch.sym_max, torch.sym_min,
]  # fmt: skip
OF_INTEGERS = [operator.floordiv, operator.mod]
UNARY = [operator.neg, torch.sym_float]


def target(function):
    return f"python:{function.__module__}.{function.__qualname__}"


def call(name, target, arguments, **keywords):
    return {
        "name": name, "kind": "call", "target": target, "values": [], "arguments": arguments,
        "keywords": keywords,
    }  # fmt: skip


def computed(worker, function, *operands):
    """The number, by way of tensors."""
    values = [torch.tensor(value) for value in operands]
    names = [f"x{index}" for index in range(len(values))]
    nodes = [{"name": name, "kind": "placeholder", "values": []} for name in names]
    items = [call(f"{name}_item", "aten.item.default", [{"node": name}]) for name in names]
    given = [{"node": item["name"]} for item in items]
    result = call("result", target(function), [given] if function is torch.sym_sum else given)
    filled = call(
        "filled", "aten.full.default", [[1], {"node": "result"}], dtype={"dtype": "float64"}
    )
    output = {"argument": 9, "buffer": "b", "source": "fx", "node": "filled", "is_live": True}
    fragment = {
        "graph": {"nodes": [*nodes, *items, result, filled]},
        "inputs": [{"node": name, "argument": index} for index, name in enumerate(names)],
        "outputs": [output],
    }
    (run,) = worker.run(fragment, values)
    assert run.exception == ""
    return run.outputs[0].item()


@pytest.mark.parametrize("function", BINARY + OF_INTEGERS, ids=target)
@pytest.mark.parametrize("operands", [(7, 3), (-7, 3), (7, -3), (4, 4), (2**40 + 1, 2)])
def test_functions_of_two_integers(worker, function, operands):
    assert computed(worker, function, *operands) == float(function(*operands))


@pytest.mark.parametrize("function", BINARY, ids=target)
@pytest.mark.parametrize("operands", [(0.75, -2.5), (-1.5, 3), (2, 0.5)])
def test_functions_of_floats(worker, function, operands):
    assert computed(worker, function, *operands) == float(function(*operands))


@pytest.mark.parametrize("function", UNARY, ids=target)
@pytest.mark.parametrize("operand", [5, -3, 0.25])
def test_functions_of_one_number(worker, function, operand):
    assert computed(worker, function, operand) == float(function(operand))


@pytest.mark.parametrize("function", [operator.and_, operator.or_, operator.xor], ids=target)
@pytest.mark.parametrize("operands", [(6, 3), (-7, 12), (True, 6), (True, True), (False, True)])
def test_bits_of_integers_and_truths_of_bools(worker, function, operands):
    assert computed(worker, function, *operands) == float(function(*operands))


@pytest.mark.parametrize("function", [operator.lt, operator.le, operator.gt, operator.ge])
def test_nothing_is_more_or_less_than_nan(worker, function):
    assert computed(worker, function, float("nan"), 1.0) == 0


def test_powers_and_truth(worker):
    assert computed(worker, operator.pow, 3, 4) == 81
    assert computed(worker, operator.pow, 2.0, 0.5) == 2.0**0.5
    assert computed(worker, torch.sym_not, True) == 0
    assert computed(worker, torch.sym_int, 2.75) == 2


def test_a_sum_of_many(worker):
    assert computed(worker, torch.sym_sum, 3, -8, 40) == 35
    assert computed(worker, torch.sym_sum, 3, 0.5) == 3.5


def test_what_has_no_value_is_said(worker):
    with pytest.raises(WorkerError, match="divides by zero"):
        computed(worker, operator.floordiv, 1, 0)
