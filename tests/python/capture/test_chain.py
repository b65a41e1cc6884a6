"""The graphs before the lowered one are on record, as a backend of one's own sees them."""

import json

import fuseproof
import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.utils import fresh_cache


def function(x, weight):
    y = torch.nn.functional.gelu(x @ weight).view(-1)
    return torch.softmax(y, 0), x.sum()


def inputs(requires_grad=False):
    torch.manual_seed(0)
    return torch.randn(4, 8), torch.randn(8, 8, requires_grad=requires_grad)


def seen_by_backends(program, *args):
    """Node names of Dynamo's graph, and targets of AOTAutograd's under Inductor's decompositions,
    from backends that compile nothing."""
    names, targets = [], []

    def keep(module, _):
        targets.append([str(n.target) for n in module.graph.nodes if n.op == "call_function"])
        return module.forward

    aot = aot_autograd(fw_compiler=keep, decompositions=select_decomp_table())

    def backend(module, example_inputs):
        names.append([node.name for node in module.graph.nodes])
        return aot(module, example_inputs)

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(program, backend=backend)(*args)
    (dynamo,), (aten,) = names, targets
    return dynamo, aten


def captured(program, run, *args):
    torch._dynamo.reset()
    with fuseproof.capture(run):
        result = torch.compile(program)(*args)
        for value in result if isinstance(result, tuple) else (result,):
            if value.requires_grad:
                value.sum().backward(retain_graph=True)
    return chains(run)


def chains(run):
    return [
        {path.stem: json.loads(path.read_text()) for path in graph.glob("*.json")}
        for graph in sorted(run.glob("*/graphs/*"))
    ]


def calls(document):
    return [node["target"] for node in document["graph"]["nodes"] if node["kind"] == "call"]


def test_dynamos_graph_and_the_traced_one_stand_beside_the_lowered_one(tmp_path):
    dynamo, aten = seen_by_backends(function, *inputs())
    with torch.no_grad():
        (chain,) = captured(function, tmp_path / "run", *inputs())
    assert [node["name"] for node in chain["dynamo"]["graph"]["nodes"]] == dynamo
    assert "method:view" in calls(chain["dynamo"])
    assert calls(chain["aten"]) == aten
    assert chain["graph"]["order"]
    placeholder = chain["dynamo"]["graph"]["nodes"][0]
    assert placeholder["values"][0]["shape"] == [4, 8]
    lines = {
        node["source"]["text"] for node in chain["dynamo"]["graph"]["nodes"] if "source" in node
    }
    assert "return torch.softmax(y, 0), x.sum()" in lines


def test_forward_and_backward_share_the_graph_that_was_traced_for_both(tmp_path):
    forward, backward = captured(function, tmp_path / "run", *inputs(requires_grad=True))
    assert forward["dynamo"] == backward["dynamo"]
    assert forward["aten"] == backward["aten"]
    joint = {node["name"] for node in forward["aten"]["graph"]["nodes"]}
    assert any(name.startswith("tangents") for name in joint)


def test_a_graph_that_is_compiled_without_dynamo_has_no_graphs_before_it(tmp_path):
    from torch._inductor.compile_fx import compile_fx_inner
    from torch.fx.experimental.proxy_tensor import make_fx

    module = make_fx(lambda x: (torch.sin(x) + 1,), tracing_mode="fake")(torch.randn(40))
    fake = [node.meta["val"] for node in module.graph.nodes if node.op == "placeholder"]
    with fresh_cache(), torch.no_grad(), fuseproof.capture(tmp_path / "run"):
        compile_fx_inner(module, fake)([torch.randn(40)])
    (chain,) = chains(tmp_path / "run")
    assert set(chain) == {"graph"}
    info = json.loads((tmp_path / "run/run.json").read_text())
    assert info["problems"] == [] and info["counts"]["kernels"] == 1


@pytest.mark.parametrize("dynamic", [False, True])
def test_sizes_stand_as_in_the_lowered_graph(tmp_path, dynamic):
    def program(x):
        return torch.cat([x, x * 2], 0).cumsum(0)

    torch._dynamo.reset()
    with torch.no_grad(), fuseproof.capture(tmp_path / "run"):
        torch.compile(program, dynamic=dynamic)(torch.randn(6, 3))
    (chain,) = chains(tmp_path / "run")

    def shape_of(document, target):
        node = next(n for n in document["graph"]["nodes"] if n.get("target", "").endswith(target))
        return node["values"][0]["shape"]

    assert shape_of(chain["dynamo"], "cat") == shape_of(chain["graph"], "aten.cat.default")
    assert shape_of(chain["aten"], "aten.cat.default") == shape_of(chain["dynamo"], "cat")


def test_a_cache_that_holds_equal_graphs_of_two_programs_serves_each_its_own(tmp_path):
    def sum_by_operator(x, y):
        return (x + y).relu()

    def sum_by_method(x, y):
        return x.add(y).relu()

    def run(program, name):
        with torch.no_grad():
            (chain,) = captured(program, tmp_path / name, torch.randn(65), torch.randn(65))
        return chain

    with fresh_cache():
        cold = run(sum_by_operator, "a"), run(sum_by_method, "b")
        hot = run(sum_by_operator, "c"), run(sum_by_method, "d")
    assert cold[0]["dynamo"] != cold[1]["dynamo"]
    assert hot == cold
    assert all(set(chain) == {"dynamo", "aten", "graph"} for chain in hot)
