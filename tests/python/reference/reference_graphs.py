"""A minimal writer of Fuseproof's documents from torch.fx graphs and tensors, for tests alone."""

import math
import operator

import torch


def number_json(value):
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")}
    return value


def argument_json(value):
    if isinstance(value, torch.fx.Node):
        return {"node": value.name}
    if isinstance(value, (list, tuple)):
        return [argument_json(element) for element in value]
    if isinstance(value, complex):
        return {"complex": [number_json(value.real), number_json(value.imag)]}
    if isinstance(value, float):
        return number_json(value)
    for kind, cls in (
        ("dtype", torch.dtype),
        ("layout", torch.layout),
        ("memory_format", torch.memory_format),
        ("device", torch.device),
    ):
        if isinstance(value, cls):
            return {kind: str(value).removeprefix("torch.")}
    return value


KINDS = {
    "placeholder": "placeholder",
    "get_attr": "constant",
    "call_function": "call",
    "output": "output",
}


def node_json(node):
    document = {"name": node.name, "kind": KINDS[node.op], "values": []}
    if node.op == "get_attr":
        document["target"] = node.target
    if node.op == "call_function":
        is_getitem = node.target is operator.getitem
        document["target"] = "getitem" if is_getitem else str(node.target)
    if node.op in ("call_function", "output"):
        document["arguments"] = [argument_json(argument) for argument in node.args]
        document["keywords"] = {name: argument_json(value) for name, value in node.kwargs.items()}
    return document


def graph_json(graph):
    return {"nodes": [node_json(node) for node in graph.nodes]}


def layout_json(tensor):
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "strides": list(tensor.stride()),
        "offset": tensor.storage_offset(),
    }


def fragment_json(graph, outputs):
    """`outputs` names nodes. Placeholders and constants are bound to arguments in graph order."""
    nodes = [node for node in graph.nodes if node.op != "output"]
    bound = [node.name for node in nodes if node.op in ("placeholder", "get_attr")]
    return {
        "graph": {"nodes": [node_json(node) for node in nodes]},
        "inputs": [{"node": name, "argument": index} for index, name in enumerate(bound)],
        "outputs": [
            {
                "argument": len(bound) + index,
                "buffer": f"buf{index}",
                "source": "fx",
                "node": name,
                "is_live": True,
            }
            for index, name in enumerate(outputs)
        ],
    }


def call_json(values, threads=None, mxcsr=0x1F80, symbols=None, generator=None, **settings):
    """The call record of `values` (tensors, ints, floats), and the storages that it names.

    generator: the state of torch's generator, or None. settings: default_dtype, float32_precision.
    """
    storages = []
    arguments = []
    for value in values:
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            known = [s.data_ptr() for s in storages]
            if storage.data_ptr() not in known or storage.nbytes() == 0:
                storages.append(storage)
                known.append(storage.data_ptr())
            index = len(storages) - 1 if storage.nbytes() == 0 else known.index(storage.data_ptr())
            arguments.append({"storage": index, "layout": layout_json(value)})
        else:
            arguments.append({"integer" if isinstance(value, int) else "float": value})
    drawing = {}
    if generator is not None:
        drawing = {"generator": len(storages)}
        storages.append(generator.untyped_storage())
    call = {
        **drawing,
        **settings,
        "index": 0,
        "step": 0,
        "threads": threads or torch.get_num_threads(),
        "mxcsr": mxcsr,
        "grad_mode": False,
        "symbols": symbols or {},
        "storages": [
            {"size_bytes": s.nbytes(), "address_mod_64": s.data_ptr() % 64, "omitted": "layout"}
            for s in storages
        ],
        "arguments": arguments,
    }
    return call, storages
