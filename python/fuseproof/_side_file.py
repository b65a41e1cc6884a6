"""What is kept of a compiled graph for the day when torch's cache serves it: from the records of a
compile to the content of a side file (src/bundle/side_file.h), and back.

A side file holds no tensors of the program. The constants that a call record appends are in the
generated module, which says where; only those that torch inlines into kernels, of a few elements,
are written out.
"""

from __future__ import annotations

import functools
import gc
import json
import os
from collections.abc import Mapping
from typing import Any

import torch

from fuseproof import _core
from fuseproof._calls import Site
from fuseproof._chain import Chain
from fuseproof._graph_record import GraphRecord
from fuseproof._sizes import SymbolPlace
from fuseproof._torch_hooks import compiled_identity, internals

Json = dict[str, Any]

_MAX_INLINED_BYTES = 4096
_MAX_CHAINS = 8  # different programs that are lowered to the same graph


class ConstantNotKept(Exception):
    """A large constant that a fragment needs and the generated module does not hold."""


@functools.cache
def _program() -> str:
    """Who wrote a side file: another program's is not read."""
    package = os.path.dirname(os.path.abspath(__file__))
    return f"fuseproof {_core.package_hash(package)}, torch {torch.__version__}"


def _folder() -> str:
    return os.path.join(internals().cache_dir(), "fuseproof")


def read(compiled: Any) -> str | None:
    """The content for a CompiledFxGraph; None when there is none, or none of this program."""
    return _core.read_side_file(_folder(), *compiled_identity(compiled), _program())


def parse(text: str) -> Json:
    """Without Python's collector: it would walk through all of the program's objects each time that
    some thousands of new ones have been made."""
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        content: Json = json.loads(text)
    finally:
        if is_collecting:
            gc.enable()
    return content


def write(compiled: Any, content: Json) -> None:
    _core.write_side_file(_folder(), *compiled_identity(compiled), _program(), json.dumps(content))


def content_of(
    records: list[GraphRecord], sites: list[Site], module_constants: Mapping[str, Any]
) -> Json:
    """`records`: a main graph and its sub-graphs. `module_constants`: what the generated module has
    as attributes. Raises ConstantNotKept for one that could not be found again."""
    index_of = {site.name: index for index, site in enumerate(sites)}

    def without_names(item: Json) -> Json:
        return {**item, "site": index_of[item["site"]]} if item["kind"] == "kernel" else item

    return {
        "chains": [vars(records[0].chain)] if records else [],
        "graphs": [
            {
                "sub_graph": record.id.removeprefix(record.main_id),
                "info": record.info(),
                "document": record.document,
                "order": [without_names(item) for item in record.order],
                "symbol_places": record.symbol_places,
            }
            for record in records
        ],
        "sites": [
            {
                "sub_graph": site.spec["graph"].removeprefix(records[0].main_id),
                "spec": site.spec,
                "fragment": site.fragment,
                "source": site.source,
                "symbol_places": site.symbol_places,
                "constants": [_place_of(constant, module_constants) for constant in site.constants],
            }
            for site in sites
        ],
    }


def complete(compiled: Any, content: Json, chain: Chain) -> Chain:
    """The chain of a graph that a cache served. AOTAutograd's cache holds no ATen graph: it is
    looked up by Dynamo's. One that the side file does not have yet is added to it."""
    known = [Chain(**entry) for entry in content["chains"]]
    if chain.aten is not None and not any(one.begins_as(chain) for one in known):
        chains = [*content["chains"], vars(chain)][-_MAX_CHAINS:]
        write(compiled, {**content, "chains": chains})
    return chain.completed(known)


def graphs_from(content: Json, main_id: str, sites: list[Site], chain: Chain) -> list[GraphRecord]:
    """The records as the compile had them. `sites` have their names already."""

    def with_names(item: Json) -> Json:
        return {**item, "site": sites[item["site"]].name} if item["kind"] == "kernel" else item

    records = []
    for graph in content["graphs"]:
        info = graph["info"]
        record = GraphRecord(
            id=main_id + graph["sub_graph"],
            kind=info["kind"],
            is_static=info["is_static"],
            symbols={},
            is_cpp_wrapper=info["cpp_wrapper"],
            node_count=info["nodes"],
            facts=None,  # type: ignore[arg-type]
            lowered=None,
            document=graph["document"],
            constants={},
            symbol_places=_places(graph),
            recipe={},
            order=[with_names(item) for item in graph["order"]],
        )
        records.append(record)
    if records:
        records[0].sites = sites
        records[0].chain = chain
    return records


def sites_from(content: Json, module: Any) -> list[Site]:
    """The sites of a loaded module; they get their names when they join a run."""
    sites = []
    for entry in content["sites"]:
        spec = entry["spec"]
        constants = [_constant(place, module) for place in entry["constants"]]
        site = Site(
            "",
            spec["kernel"],
            spec,
            entry["fragment"],
            entry["source"],
            constants,
            _places(entry),
        )
        sites.append(site)
    return sites


def symbol_places(content: Json) -> list[SymbolPlace]:
    """In the arguments of the main graph's own call."""
    return _places(content["graphs"][0]) if content["graphs"] else []


def _places(entry: Json) -> list[SymbolPlace]:
    return [SymbolPlace(*place) for place in entry["symbol_places"]]


def name_sites(content: Json, sites: list[Site], names: list[str], main_id: str) -> None:
    for entry, site, name in zip(content["sites"], sites, names, strict=True):
        site.name = name
        site.spec.update(site=name, graph=main_id + entry["sub_graph"])


def _place_of(constant: torch.Tensor, module_constants: Mapping[str, Any]) -> Json:
    for name, value in module_constants.items():
        if _is_same(constant, value):
            return {"attribute": name}
    size_bytes = constant.numel() * constant.element_size()
    if size_bytes > _MAX_INLINED_BYTES:
        raise ConstantNotKept(
            f"a constant of {size_bytes} bytes is neither in the module nor small enough to keep"
        )
    content = constant.detach().contiguous().flatten().view(torch.uint8)
    return {
        "dtype": str(constant.dtype).removeprefix("torch."),
        "shape": list(constant.shape),
        "strides": list(constant.stride()),
        "bytes": bytes(content.tolist()).hex(),
    }


def _is_same(constant: torch.Tensor, value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.layout is torch.strided
        and value.data_ptr() == constant.data_ptr() != 0
        and value.dtype == constant.dtype
        and value.shape == constant.shape
        and value.stride() == constant.stride()
    )


def _constant(place: Json, module: Any) -> torch.Tensor:
    if "attribute" in place:
        value: torch.Tensor = getattr(module, place["attribute"])
        return value.detach()
    dtype = getattr(torch, place["dtype"])
    constant = torch.empty_strided(place["shape"], place["strides"], dtype=dtype)
    content = bytes.fromhex(place["bytes"])
    if content:
        constant.copy_(torch.frombuffer(bytearray(content), dtype=dtype).view(place["shape"]))
    return constant
