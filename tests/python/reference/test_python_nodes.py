"""Nodes that only Python can run: the reference has them run by a Python process and says so."""

import sys
from pathlib import Path

import custom_operators
import pytest
import torch
from reference_checks import GraphBuilder, check_call, check_native, same_bits
from reference_graphs import graph_json
from reference_samples import X, randn
from reference_worker import ReferenceWorker, WorkerError, worker_path
from torch.ao.quantization.fx import _decomposed

aten = torch.ops.aten
prims = torch.ops.prims
mine = torch.ops.fuseproof_test
quantized = torch.ops.quantized_decomposed

HERE = str(Path(__file__).parent)


@pytest.fixture(scope="module")
def python_worker():
    """A worker that may run custom_operators.py."""
    running = ReferenceWorker(
        worker_path(),
        "--python",
        sys.executable,
        "--import",
        custom_operators.__name__,
        environment={"PYTHONPATH": HERE},
    )
    yield running
    assert running.close() == 0


@pytest.fixture(scope="module")
def torch_worker():
    """A worker that knows torch's own operators alone."""
    running = ReferenceWorker(worker_path(), "--python", sys.executable)
    yield running
    assert running.close() == 0


def graph_of(target, *args, **kwargs):
    build = GraphBuilder()
    build.output(build.call(target, *args, **kwargs))
    return build


def failure(worker, build):
    with pytest.raises(WorkerError) as caught:
        worker.run(build.fragment(), build.values)
    assert caught.value.kind == "unsupported"
    return str(caught.value)


def test_a_prim_without_a_cpp_form_equals_torch(torch_worker):
    check_call(torch_worker, prims.svd.default, X, full_matrices=False)


def test_operators_that_torch_registers_from_python_equal_torch(torch_worker):
    assert _decomposed.quantized_decomposed_lib.ns == "quantized_decomposed"
    scheme = (0.07, 3, -128, 127, torch.int8)
    build = GraphBuilder()
    whole = build.call(quantized.quantize_per_tensor.default, X, *scheme)
    back = build.call(quantized.dequantize_per_tensor.default, whole, *scheme)
    build.output(whole, build.call(aten.neg.default, back))
    check_native(torch_worker, build)


def test_a_custom_operator_equals_torch_and_is_counted(python_worker):
    build = GraphBuilder()
    doubled = build.call(aten.mul.Tensor, X.t(), 2.0)
    sine = build.call(mine.scaled_sine.default, doubled, 0.5)
    build.output(build.call(aten.relu.default, sine))
    (run,) = python_worker.run(build.fragment(), build.values)
    same_bits(run.outputs[0], *build.eager())
    assert run.python_nodes == [{"node": sine.name, "target": "fuseproof_test.scaled_sine.default"}]


def test_views_lists_and_numbers_come_back(python_worker):
    build = GraphBuilder()
    x = build.input(X)
    described = build.call(mine.describe.default, x, torch.float16, [1])
    view = build.item(described, 0)
    parts = build.item(described, 1)
    number = build.item(described, 2)
    # A write to the view is one to `x`.
    written = build.call(aten.mul_.Tensor, view, 3.0)
    build.output(x, written, build.item(parts, 0), build.item(parts, 1))
    build.output(build.call(aten.add.Tensor, x, number))
    check_native(python_worker, build)


def test_writes_to_arguments_arrive(python_worker):
    whole = randn(6, 7)
    build = GraphBuilder()
    whole_node = build.input(whole)
    into = build.call(aten.slice.Tensor, whole_node, 0, 1, 3)
    build.call(mine.accumulate.default, into, [randn(2, 7), randn(7)], weight=0.5)
    build.output(whole_node, into)
    check_native(python_worker, build)


def test_float64_runs_on_widened_arguments(python_worker):
    build = graph_of(mine.scaled_sine.default, X, 1.5)
    _, wide = python_worker.run(build.fragment(), build.values, modes=["native", "float64"])
    assert wide.no_oracle == ""
    same_bits(wide.outputs[0], mine.scaled_sine.default(X.double(), 1.5))


def test_an_operator_with_a_dtype_of_its_own_gives_no_oracle(python_worker):
    build = graph_of(mine.single_sine.default, X)
    native, wide = python_worker.run(build.fragment(), build.values, modes=["native", "float64"])
    same_bits(native.outputs[0], mine.single_sine.default(X))
    assert "single_sine" in wide.no_oracle
    assert "dtype of its own" in wide.no_oracle


def test_the_operators_exception_is_the_runs(python_worker):
    build = graph_of(mine.refuse.default, X)
    (run,) = python_worker.run(build.fragment(), build.values)
    assert "negative values are not mine" in run.exception


def test_denormals_are_flushed_as_in_the_call(python_worker):
    tiny = torch.full((64,), 1e-40)
    build = GraphBuilder()
    into = build.input(tiny.clone())
    build.call(mine.accumulate.default, into, [tiny])
    build.output(into)
    flushing = 0x1F80 | 0x8040
    (flushed,) = python_worker.run(build.fragment(), build.values, mxcsr=flushing)
    assert not flushed.outputs[0].any()
    (kept,) = python_worker.run(build.fragment(), build.values)
    same_bits(kept.outputs[0], tiny + tiny * 2)


def test_a_process_that_dies_is_named_and_the_next_node_has_a_new_one(python_worker):
    message = failure(python_worker, graph_of(mine.die.default, X))
    assert "fuseproof_test.die.default" in message
    assert "was killed by signal 9" in message
    check_native(python_worker, graph_of(mine.scaled_sine.default, X, 2.0))


def test_an_operator_that_no_module_registers_says_what_to_do(torch_worker):
    message = failure(torch_worker, graph_of(mine.scaled_sine.default, X, 2.0))
    assert "fuseproof_test.scaled_sine.default" in message
    assert "--import MODULE" in message


def test_a_module_that_cannot_be_imported_is_named():
    worker = ReferenceWorker(
        worker_path(), "--python", sys.executable, "--import", "no_such_module"
    )
    message = failure(worker, graph_of(mine.scaled_sine.default, X, 2.0))
    assert "--import no_such_module: ModuleNotFoundError" in message
    assert worker.close() == 0


def test_operators_of_both_processes_draw_from_one_stream(python_worker):
    state = torch.get_rng_state()
    build = GraphBuilder()
    before = build.call(aten.rand.default, [5])
    noisy = build.call(mine.add_noise.default, X)
    build.output(before, noisy, build.call(aten.rand.default, [5]))
    (run,) = python_worker.run(build.fragment(), build.values, generator=state)
    for actual, value in zip(run.outputs, build.eager(), strict=True):
        same_bits(actual, value)


def test_without_python_the_message_says_so(worker):
    message = failure(worker, graph_of(mine.scaled_sine.default, X, 2.0))
    assert "no Python interpreter was found" in message


def cond_of(true_graph, x):
    """cond(x.any(), true_graph, false_graph, (x,)) with false_graph = -x, and the sine of it."""
    false_graph = torch.fx.Graph()
    negated = false_graph.call_function(aten.neg.default, (false_graph.placeholder("x"),))
    false_graph.output((negated,))
    build = GraphBuilder()
    x_node = build.input(x)
    predicate = build.call(aten.any.default, x_node)
    cond = build.call(aten.relu.default, predicate)  # until its target is edited below
    build.output(build.call(aten.sin.default, build.item(cond, 0)))
    fragment = build.fragment()
    (node,) = [node for node in fragment["graph"]["nodes"] if node["name"] == cond.name]
    node["target"] = "python:torch.ops.higher_order.cond"
    node["arguments"] += [{"subgraph": "yes"}, {"subgraph": "no"}, [{"node": x_node.name}]]
    graphs = {"yes": true_graph, "no": false_graph}
    fragment["graph"]["subgraphs"] = {name: graph_json(graph) for name, graph in graphs.items()}
    return fragment


def branch(target, *arguments):
    graph = torch.fx.Graph()
    graph.output((graph.call_function(target, (graph.placeholder("x"), *arguments)),))
    return graph


def test_a_cond_gives_what_its_branch_gives_and_has_no_float64_form(torch_worker):
    for x in (X, torch.zeros(5)):
        fragment = cond_of(branch(aten.mul.Tensor, 0.3), x)
        native, wide = torch_worker.run(fragment, [x], modes=["native", "float64"])
        same_bits(native.outputs[0], (x * 0.3 if x.any() else -x).sin())
        (python_node,) = native.python_nodes
        assert python_node["target"] == "python:torch.ops.higher_order.cond"
        assert "calls graphs" in wide.no_oracle


def test_a_branch_may_call_operators_of_the_users(python_worker, torch_worker):
    fragment = cond_of(branch(mine.scaled_sine.default, 0.5), X)
    (run,) = python_worker.run(fragment, [X])
    same_bits(run.outputs[0], mine.scaled_sine.default(X, 0.5).sin())
    with pytest.raises(WorkerError, match=r"scaled_sine.*of its graph `yes`: .*--import MODULE"):
        torch_worker.run(fragment, [X])


def test_a_branch_that_writes_into_an_operand_is_refused(torch_worker):
    with pytest.raises(WorkerError, match="one of its graphs writes into an operand"):
        torch_worker.run(cond_of(branch(aten.mul_.Tensor, 2.0), X), [X])


def test_an_operator_of_higher_order_that_torch_lacks_is_named(torch_worker):
    fragment = cond_of(branch(aten.mul.Tensor, 0.3), X)
    (node,) = [node for node in fragment["graph"]["nodes"] if "higher" in node.get("target", "")]
    node["target"] = "python:torch.ops.higher_order.perhaps"
    with pytest.raises(WorkerError, match="torch has no operator of higher order `perhaps`"):
        torch_worker.run(fragment, [X])


def test_an_operator_that_an_operator_of_higher_order_calls(python_worker):
    build = GraphBuilder()
    both = build.call(aten.relu.default)
    build.input(X)
    build.output(build.item(both, 1))
    fragment = build.fragment()
    nodes = fragment["graph"]["nodes"]
    nodes.insert(0, nodes.pop(1))
    # What AOTAutograd makes of `accumulate(x, [x], weight=0.5)`.
    nodes[1] |= {
        "target": "python:torch.ops.higher_order.auto_functionalized_v2",
        "arguments": [{"operator": "fuseproof_test.accumulate.default"}],
        "keywords": {
            "rows": [{"node": "arg1"}],
            "weight": 0.5,
            "_into_base_index": 0,
            "_all_bases": [{"node": "arg1"}],
        },
    }
    (run,) = python_worker.run(fragment, [X])
    expected = X.clone()
    mine.accumulate.default(expected, [X], weight=0.5)
    same_bits(run.outputs[0], expected)


def test_a_function_that_is_no_operator_is_refused_as_one(torch_worker):
    fragment = graph_of(aten.relu.default, X).fragment()
    fragment["graph"]["nodes"][1]["target"] = "python:math.floor"
    with pytest.raises(WorkerError, match="a function of Python's"):
        torch_worker.run(fragment, [X])
