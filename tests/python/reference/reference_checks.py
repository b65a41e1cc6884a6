"""Builds graphs, runs them by the worker and by torch, and compares bits and strides."""

import operator

import torch
from reference_graphs import fragment_json


def same_bits(actual, expected):
    def packed(tensor):
        plain = tensor.resolve_conj().resolve_neg().contiguous()
        return bytes(plain.reshape(-1).view(torch.uint8).tolist()) if plain.numel() else b""

    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    assert actual.stride() == expected.stride()
    assert packed(actual) == packed(expected), f"{actual} is not {expected}"


class GraphBuilder:
    """One call after another; a tensor given as an argument becomes a placeholder."""

    def __init__(self):
        self.graph = torch.fx.Graph()
        self.values = []  # of the placeholders
        self.outputs = []  # nodes

    def input(self, value):
        self.values.append(value)
        return self.graph.placeholder(f"arg{len(self.values)}")

    def _bound(self, value):
        if isinstance(value, torch.Tensor):
            return self.input(value)
        if isinstance(value, (list, tuple)):
            return type(value)([self._bound(element) for element in value])
        return value

    def call(self, target, *args, **kwargs):
        bound = self._bound(list(args))
        keywords = {name: self._bound(value) for name, value in kwargs.items()}
        return self.graph.call_function(target, tuple(bound), keywords)

    def item(self, node, index):
        return self.graph.call_function(operator.getitem, (node, index))

    def output(self, *nodes):
        self.outputs.extend(nodes)

    def fragment(self):
        return fragment_json(self.graph, [node.name for node in self.outputs])

    def eager(self):
        """The outputs by torch, on inputs with the same aliasing."""
        self.graph.output(tuple(self.outputs))
        module = torch.fx.GraphModule(torch.nn.Module(), self.graph)
        return module(*copies(self.values))


def copies(values):
    """Copies of the tensors that keep storages, offsets and strides."""
    storages = {}
    result = []
    for value in values:
        if not isinstance(value, torch.Tensor):
            result.append(value)
            continue
        storage = value.untyped_storage()
        copy = storages.setdefault(storage.data_ptr(), storage.clone())
        tensor = torch.empty(0, dtype=value.dtype)
        result.append(tensor.set_(copy, value.storage_offset(), value.shape, value.stride()))
    return result


def check_native(worker, builder, **options):
    (run,) = worker.run(builder.fragment(), builder.values, **options)
    assert run.exception == ""
    expected = builder.eager()
    assert len(run.outputs) == len(expected)
    for actual, value in zip(run.outputs, expected, strict=False):
        same_bits(actual, value)
    return run.outputs


def graph_of_call(target, args, kwargs, reference=None):
    """A graph of one call with all its tensor results as outputs."""
    result = (reference or target)(*copies_of_nested(args), **kwargs)
    builder = GraphBuilder()
    node = builder.call(target, *args, **kwargs)
    if isinstance(result, torch.Tensor):
        builder.output(node)
        return builder, [result]
    tensors = [index for index, value in enumerate(result) if isinstance(value, torch.Tensor)]
    builder.output(*[builder.item(node, index) for index in tensors])
    return builder, [result[index] for index in tensors]


def copies_of_nested(args):
    if isinstance(args, torch.Tensor):
        return copies([args])[0]
    if isinstance(args, (list, tuple)):
        return type(args)([copies_of_nested(element) for element in args])
    return args


def check_call(worker, target, *args, reference=None, **kwargs):
    """`reference`: what to compare with, when it is not the target itself."""
    builder, expected = graph_of_call(target, args, kwargs, reference)
    (run,) = worker.run(builder.fragment(), builder.values)
    assert run.exception == ""
    assert len(run.outputs) == len(expected)
    for actual, value in zip(run.outputs, expected, strict=False):
        same_bits(actual, value)


def check_graphs(graphs, *kinds):
    """What the fixture `compared` gives: all are equal to `aot_eager`'s. kinds: of each graph."""
    assert [graph["kind"] for graph in graphs] == list(kinds)
    for graph in graphs:
        assert graph["calls"] > 0
        assert graph["differences"] == []
