"""Graphs of models as Inductor's decompositions leave them, forwards and backwards."""

import operator

import pytest
import torch
import torch._inductor.lowering
import torch.nn.functional as F
from reference_checks import copies, same_bits
from reference_graphs import fragment_json
from reference_samples import randn
from torch._inductor.decomposition import select_decomp_table
from torch.fx.experimental.proxy_tensor import make_fx


def attention(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


def residual_block(image, weight, gain, bias, running):
    hidden = F.conv2d(image, weight, padding=1)
    hidden = F.batch_norm(hidden, *running.abs(), gain, bias, training=True)
    return F.max_pool2d(F.relu(hidden + image), 3, 2, 1)


def transformer_layer(tokens, table, weight, gain):
    hidden = F.embedding(tokens, table)
    hidden = F.gelu(F.linear(F.layer_norm(hidden, [16], gain), weight), approximate="tanh")
    return F.log_softmax(hidden.half().float() + hidden, -1)


def gradients(x, weight, target):
    with torch.enable_grad():
        x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
        loss = F.cross_entropy(F.silu(F.rms_norm(x, [12])) @ weight, target, label_smoothing=0.1)
        return torch.autograd.grad(loss, [x, weight])


def shuffling(x):
    rows = x.roll(1, 0).flip(1).unfold(1, 3, 2)
    gathered = torch.gather(x, 1, x.argsort(1))
    return rows.sum(-1), gathered.cumsum(0), F.pad(x, (1, 2), value=-1.5).tril(), x.chunk(2, 1)[1]


def resampling(image):
    return (
        F.interpolate(image, scale_factor=1.7, mode="bilinear", align_corners=False),
        F.avg_pool2d(image, 2),
        F.pixel_shuffle(image, 2),
        F.grid_sample(image, torch.linspace(-1, 1, 40).view(1, 5, 4, 2), align_corners=True),
    )


MODELS = {
    attention: [randn(2, 2, 10, 8), randn(2, 2, 10, 8) + 1, randn(2, 2, 10, 8) - 1],
    residual_block: [randn(2, 4, 9, 9), randn(4, 4, 3, 3), randn(4), randn(4), randn(2, 4)],
    transformer_layer: [
        torch.tensor([[1, 5, 2], [0, 0, 6]]),
        randn(7, 16),
        randn(20, 16),
        randn(16),
    ],
    gradients: [randn(6, 12), randn(12, 5), torch.tensor([0, 4, 2, 2, 1, 3])],
    shuffling: [randn(6, 8)],
    resampling: [randn(1, 4, 6, 6)],
}


def traced(model, inputs):
    module = make_fx(model, decomposition_table=select_decomp_table())(*copies(inputs))
    (results,) = next(node for node in module.graph.nodes if node.op == "output").args
    outputs = [results] if isinstance(results, torch.fx.Node) else list(results)
    constants = [
        operator.attrgetter(node.target)(module)
        for node in module.graph.nodes
        if node.op == "get_attr"
    ]
    return module, outputs, constants


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_decomposed_model_equals_torch(worker, model):
    inputs = MODELS[model]
    module, outputs, constants = traced(model, inputs)
    fragment = fragment_json(module.graph, [node.name for node in outputs])
    values = bound_values(module.graph, inputs, constants)
    native, wide = worker.run(fragment, values, modes=["native", "float64"])
    assert native.exception == ""
    expected = module(*copies(inputs))
    expected = [expected] if isinstance(expected, torch.Tensor) else list(expected)
    for actual, value in zip(native.outputs, expected, strict=True):
        same_bits(actual, value)
    assert wide.no_oracle == ""
    for actual, value in zip(wide.outputs, expected, strict=True):
        torch.testing.assert_close(actual.to(value.dtype), value, rtol=2e-3, atol=2e-3)


def bound_values(graph, inputs, constants):
    """In the order of the graph, as fragment_json binds them."""
    inputs, constants = iter(inputs), iter(constants)
    return [
        next(inputs if node.op == "placeholder" else constants)
        for node in graph.nodes
        if node.op in ("placeholder", "get_attr")
    ]
