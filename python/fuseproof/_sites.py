"""Makes the site of a kernel: its kernel.json, its fragment, its source."""

from __future__ import annotations

import re
from typing import Any

import torch

from fuseproof._calls import Site
from fuseproof._graph_record import GraphRecord
from fuseproof._torch_hooks import internals

Json = dict[str, Any]


def kernel_source(source: str, kernel: str, is_cpp_wrapper: bool) -> str:
    """The C++ text that is compiled, from what define_kernel was given."""
    placeholder = internals().Placeholder
    entry = kernel if is_cpp_wrapper else "kernel"
    text = source.replace(str(placeholder.KERNEL_NAME), entry)
    text = text.replace(str(placeholder.DESCRIPTIVE_NAME), kernel)
    return text.replace("#pragma CMT", "//").strip() + "\n"


def new_site(
    name: str, record: GraphRecord, source: str, kernel_record: Json, sliced: Json
) -> Site:
    is_cpp_wrapper = record.is_cpp_wrapper
    kernel = kernel_record["kernel"]
    arguments = [
        {
            key: value
            for key, value in {**argument, "role": role}.items()
            if key in ("name", "role", "type", "value", "aliases")
        }
        for argument, role in zip(kernel_record["arguments"], sliced["roles"], strict=True)
    ]
    origins = {node for step in kernel_record["steps"] for node in step["origins"]}
    spec = {
        "version": "1.2",
        "kernel": kernel,
        "site": name,
        "graph": record.id,
        "device": "cpu",
        "threads": torch.get_num_threads(),
        "is_static": record.is_static,
        "cpp_wrapper": is_cpp_wrapper,
        "arguments": arguments,
        "symbol_hints": record.symbols,
        "nodes": sorted(origins, key=record.facts.order.__getitem__),
        "artifact": {
            "kind": "inductor_cpp",
            "entry": kernel if is_cpp_wrapper else "kernel",
            "source_file": "kernel.cpp",
            "source_hash": "",
            "object_file": "",
            "object_hash": "",
            "build_error": "",
            "recipe": record.recipe,
        },
    }
    constants = [record.constants[node] for node in sliced["constants"]]
    return Site(
        name,
        kernel,
        spec,
        sliced["fragment"],
        kernel_source(source, kernel, is_cpp_wrapper),
        constants,
        record.facts.argument_places(kernel_record["arguments"]),
    )


def unsliced(kernel_record: Json, error: Exception) -> Json:
    reason = f"Fuseproof failed: {type(error).__name__}: {error}"
    outputs = [
        {
            "argument": index,
            "buffer": argument["value"],
            "source": "unchecked",
            "is_live": True,
            "reason": reason,
        }
        for index, argument in enumerate(kernel_record["arguments"])
        if argument["use"] in ("out", "inout")
    ]
    return {
        "fragment": {
            "graph": {"nodes": []},
            "inputs": [],
            "outputs": outputs,
            "failure": reason,
        },
        "roles": [argument["use"] for argument in kernel_record["arguments"]],
        "constants": [],
    }


_SOURCE_PATH = re.compile(r"\S+\.cpp")


def names_source_of(error: Exception, site: Site) -> bool:
    """Whether a compiler's message is about this kernel: it names a file that holds its source."""
    for path in set(_SOURCE_PATH.findall(str(error))):
        try:
            with open(path, encoding="utf-8") as file:
                if site.source.strip() in file.read():
                    return True
        except OSError:
            continue
    return False
