"""The worker's results are PyTorch's, bit by bit and stride by stride."""

import os
import signal

import pytest
import torch
from reference_checks import GraphBuilder, check_call, check_native
from reference_samples import BFLOAT, IMAGE, INTS, X, randn
from reference_worker import WorkerError

aten = torch.ops.aten


CALLS = {
    "keyword scalar": (aten.add.Tensor, [X, randn(7)], {"alpha": 2}),
    "float in a tensor's place stays weak": (aten.mul.Tensor, [BFLOAT, 2.5], {}),
    "float in a tensor's place promotes ints": (aten.add.Tensor, [INTS, 0.5], {}),
    "bool in a tensor's place": (aten.add.Tensor, [INTS, True], {}),
    "int true division": (aten.div.Tensor, [INTS, 2], {}),
    "string argument": (aten.div.Tensor_mode, [INTS, -2], {"rounding_mode": "floor"}),
    "scalar overload": (aten.pow.Scalar, [2, X], {}),
    "complex scalar": (aten.mul.Tensor, [X.to(torch.complex64), 1 + 2j], {}),
    "nan scalar": (aten.full.default, [[2, 3], float("nan")], {"dtype": torch.float16}),
    "infinite scalar": (aten.masked_fill.Scalar, [X, X > 0, float("-inf")], {}),
    "factory with every option": (
        aten.full.default,
        [[2], 7],
        {
            "dtype": torch.int32,
            "layout": torch.strided,
            "device": torch.device("cpu"),
            "pin_memory": False,
        },
    ),
    "dtype keyword": (aten.sum.dim_IntList, [BFLOAT, [1], True], {"dtype": torch.float32}),
    "dtype keyword of a copy": (aten._to_copy.default, [X], {"dtype": torch.bfloat16}),
    "memory format": (aten.clone.default, [IMAGE], {"memory_format": torch.channels_last}),
    "one number for a list": (aten.avg_pool2d.default, [IMAGE, 3, 2, 1], {}),
    "several results": (aten.max_pool2d_with_indices.default, [IMAGE, [3, 3], [2, 2], [1, 1]], {}),
    "absent tensors": (aten.native_layer_norm.default, [X, [7], None, None, 1e-5], {}),
    "list of bools": (
        aten.native_layer_norm_backward.default,
        [X, randn(5, 7), [7], randn(5, 1), randn(5, 1).abs(), randn(7), None, [True, True, False]],
        {},
    ),
    "list of optional tensors": (
        aten.index.Tensor,
        [IMAGE, [None, torch.tensor([2, 0]), None, torch.tensor([1, 7])]],
        {},
    ),
    "list of tensors": (aten.cat.default, [[X, randn(2, 7), randn(0)]], {}),
    "results in a list": (aten.split.Tensor, [X, 2, 1], {}),
    "list of floats": (aten.upsample_nearest2d.vec, [IMAGE, None, [2.0, 2.0]], {}),
    "list of scalars": (aten._foreach_add.ScalarList, [[X, INTS], [1.5, 2]], {}),
    "generator none": (aten.bernoulli.p, [X, 0.0], {"generator": None}),
    "empty tensor": (aten.relu.default, [randn(0, 3)], {}),
    "scalar tensor": (aten.exp.default, [randn()], {}),
    "broadcast input": (aten.exp.default, [randn(4, 1).expand(4, 6)], {}),
    "transposed input": (aten.sigmoid.default, [randn(9, 4).t()], {}),
    "gaps between rows": (aten.tanh.default, [randn(8, 16)[1:, 3:12]], {}),
    "channels last input": (aten.add.Tensor, [IMAGE.to(memory_format=torch.channels_last), 1], {}),
    "half": (aten._softmax.default, [randn(3, 40, dtype=torch.float16), -1, False], {}),
    "bool reduction": (aten.any.dim, [X > 1, 1], {}),
    "int8": (aten.neg.default, [torch.tensor([-128, 3, 127], dtype=torch.int8)], {}),
    "long sum": (aten.sum.default, [randn(70_001)], {}),
    "matrix product": (aten.addmm.default, [randn(6), X.t(), randn(5, 6)], {}),
    "convolution": (
        aten.convolution.default,
        [IMAGE, randn(4, 3, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1],
        {},
    ),
    "scatter": (
        aten.scatter_reduce.two,
        [X, 1, torch.tensor([[0, 0], [3, 3]]), randn(2, 2), "amax"],
        {"include_self": True},
    ),
    "argmax of a transposed tensor": (aten.argmax.default, [randn(5, 8).t(), 0], {}),
    "conjugate view": (aten._conj.default, [X.to(torch.complex64)], {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_call_equals_torch(worker, name):
    target, args, kwargs = CALLS[name]
    check_call(worker, target, *args, **kwargs)


def test_chain_with_shared_intermediate_values_equals_torch(worker):
    build = GraphBuilder()
    x = build.input(randn(64, 48))
    mean = build.call(aten.var_mean.correction, x, [1], correction=0, keepdim=True)
    centred = build.call(aten.sub.Tensor, x, build.item(mean, 1))
    scale = build.call(aten.rsqrt.default, build.call(aten.add.Tensor, build.item(mean, 0), 1e-5))
    normed = build.call(aten.mul.Tensor, centred, scale)
    build.output(normed, scale, build.call(aten.sum.dim_IntList, normed, [0]))
    check_native(worker, build)


def test_getitem_counts_from_the_end(worker):
    build = GraphBuilder()
    parts = build.call(aten.split.Tensor, build.input(X), 3, 1)
    build.output(build.item(parts, -1))
    check_native(worker, build)


def test_in_place_chain_is_visible_through_aliasing_inputs(worker):
    base = randn(6, 10)
    build = GraphBuilder()
    rows = build.input(base[1:4])
    column = build.input(base[:, 2])
    changed = build.call(aten.add_.Tensor, rows, 10.0)
    build.output(changed, build.call(aten.mul.Tensor, column, 2.0))
    build.output(build.call(aten.copy_.default, column, build.call(aten.neg.default, column)))
    check_native(worker, build)


def test_as_strided_counts_from_the_start_of_the_inputs_storage(worker):
    build = GraphBuilder()
    view = build.input(randn(40)[8:20])
    build.output(build.call(aten.as_strided.default, view, [3, 2], [2, 1], 5))
    check_native(worker, build)


def test_unaligned_storage_offset_equals_torch(worker):
    build = GraphBuilder()
    build.output(build.call(aten.sum.default, build.input(randn(1003)[3:])))
    check_native(worker, build)


def test_constants_are_bound_like_inputs(worker):
    build = GraphBuilder()
    x = build.input(X)
    fragment_values = [X, randn(7)]
    constant = build.graph.create_node("get_attr", "_tensor_constant0", name="constant")
    build.output(build.call(aten.mul.Tensor, x, constant))
    (run,) = worker.run(build.fragment(), fragment_values)
    assert torch.equal(run.outputs[0], X * fragment_values[1])


def test_integer_arguments_bind_sizes(worker):
    build = GraphBuilder()
    x = build.input(X)
    size = build.graph.placeholder("s0")
    build.output(build.call(aten.expand.default, build.call(aten.sum.default, x), [size, 2]))
    build.output(build.call(aten.mul.Tensor, x, size))
    (run,) = worker.run(build.fragment(), [X, 3])
    assert torch.equal(run.outputs[0], X.sum().expand(3, 2))
    assert torch.equal(run.outputs[1], X * 3)


@pytest.mark.parametrize(
    "expression, size",
    [
        ("s0", 6),
        ("2*s0 + 1", 13),
        ("(s0 // 4)", 1),
        ("FloorDiv(s0 - 9, 2)", -2 + 0),
        ("Max(1, s0 - s1)", 4),
        ("s0**2 - Mod(s0, 4)", 34),
        ("-s1 + 10", 8),
    ],
)
def test_symbolic_sizes_follow_the_calls_symbols(worker, expression, size):
    build = GraphBuilder()
    x = build.input(torch.arange(3))
    build.output(build.call(aten.add.Tensor, x, 0))
    fragment = build.fragment()
    fragment["graph"]["nodes"][-1]["arguments"][1] = {"symbol": expression, "hint": 99}
    (run,) = worker.run(fragment, [torch.arange(3)], symbols={"s0": 6, "s1": 2})
    assert torch.equal(run.outputs[0], torch.arange(3) + size)


def test_a_symbolic_number_is_a_scalar_of_its_own_type(worker):
    build = GraphBuilder()
    x = build.input(randn(3))
    build.output(build.call(aten.mul.Tensor, x, 0))
    fragment = build.fragment()
    nodes = fragment["graph"]["nodes"]
    number = {"symbol": "IntTrueDiv(1, s0) + zf0"}
    nodes.insert(0, {"name": "scale", "kind": "placeholder", "values": [], "number": number})
    nodes[-1]["arguments"][1] = {"node": "scale"}
    inputs = [torch.arange(3, dtype=torch.float32)]
    (run,) = worker.run(fragment, inputs, symbols={"s0": 3, "zf0": 0.25})
    assert torch.equal(run.outputs[0], inputs[0] * (1 / 3 + 0.25))


@pytest.mark.parametrize("threads", [1, 2])
def test_sums_follow_the_calls_thread_count(worker, threads):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        build = GraphBuilder()
        build.output(build.call(aten.sum.default, build.input(randn(300_000))))
        check_native(worker, build, threads=threads)
    finally:
        torch.set_num_threads(before)


def test_denormals_are_flushed_when_the_call_flushed_them(worker):
    tiny = torch.full((100_000,), 1e-38)
    build = GraphBuilder()
    build.output(build.call(aten.mul.Tensor, build.input(tiny), 0.25))
    flush_to_zero, denormals_are_zero = 0x8000, 0x0040
    (run,) = worker.run(build.fragment(), [tiny], mxcsr=0x1F80 | flush_to_zero | denormals_are_zero)
    assert torch.count_nonzero(run.outputs[0]) == 0
    (run,) = worker.run(build.fragment(), [tiny])
    assert torch.equal(run.outputs[0], tiny * 0.25)
    assert torch.count_nonzero(run.outputs[0]) == 100_000


def test_an_operators_exception_is_eagers_and_names_the_node(worker):
    build = GraphBuilder()
    bad = build.call(aten.index_select.default, build.input(X), 0, torch.tensor([0, 9]))
    build.output(build.call(aten.relu.default, bad))
    with pytest.raises(IndexError) as eager:
        build.eager()
    native, wide = worker.run(build.fragment(), build.values, modes=["native", "float64"])
    for run in native, wide:
        node = "node `index_select_default` (aten.index_select.default)"
        assert run.exception == f"{node}: {eager.value}"
        assert run.outputs == []


def test_an_operator_without_a_kernel_is_unsupported_and_named(worker):
    build = GraphBuilder()
    build.output(build.call(aten.relu.default, build.input(X)))
    fragment = build.fragment()
    fragment["graph"]["nodes"][1]["target"] = "quantized_decomposed.quantize_per_tensor.default"
    with pytest.raises(WorkerError) as error:
        worker.run(fragment, [X])
    assert error.value.kind == "unsupported"
    assert "`relu_default`" in str(error.value)
    assert "quantized_decomposed.quantize_per_tensor.default" in str(error.value)


def test_a_fragment_is_sent_once(worker):
    build = GraphBuilder()
    build.output(build.call(aten.mul.Tensor, build.input(X), 20.26))
    fragment = build.fragment()
    reply, _ = worker.request(fragment, [X], keep_fragment=False)
    assert reply == {"reply": "unknown_program"}
    worker.run(fragment, [X])
    (run,) = worker.run(fragment, [-X], keep_fragment=False)
    assert torch.equal(run.outputs[0], -X * 20.26)


def test_an_interrupt_of_the_terminal_leaves_the_worker_running(worker):
    build = GraphBuilder()
    build.output(build.call(aten.neg.default, build.input(X)))
    check_native(worker, build)  # it has started
    os.kill(worker.process.pid, signal.SIGINT)
    check_native(worker, build)
