"""Reads a run back without Fuseproof, runs a site's recorded kernel object and its fragment in
torch, and compares them. Only the documented files are read: independent of the code under test."""

from __future__ import annotations

import importlib.util
import json
import operator
import os
from pathlib import Path
from typing import Any

import torch


def load(path: Path) -> Any:
    return json.loads(path.read_text())


class Site:
    def __init__(self, run: Path, folder: Path) -> None:
        self.run = run
        self.folder = folder
        self.spec = load(folder / "kernel.json")
        self.fragment = load(folder / "fragment.json")
        self.source = (folder / "kernel.cpp").read_text()

    @property
    def targets(self) -> list[str]:
        return [n["target"] for n in self.fragment["graph"]["nodes"] if n["kind"] == "call"]

    @property
    def is_half(self) -> bool:
        """Whether some value of the fragment has 16 bits: between fused ops a kernel keeps more."""
        layouts = [v for node in self.fragment["graph"]["nodes"] for v in node["values"] if v]
        return any(layout["dtype"] in ("bfloat16", "float16") for layout in layouts)

    @property
    def calls(self) -> list[Any]:
        paths = sorted((self.folder / "calls").iterdir(), key=lambda path: int(path.stem))
        return [load(path) for path in paths]

    def arguments(self, call: Any, poison: int = 0xCD) -> list[Any]:
        """Fresh storages with the recorded content, and the views into them."""
        storages = []
        for entry in call["storages"]:
            storage = torch.UntypedStorage(entry["size_bytes"])
            content = torch.empty(0, dtype=torch.uint8).set_(storage)
            content.fill_(poison)
            if "blob" in entry:
                data = (self.run / "blobs" / entry["blob"]).read_bytes()
                assert len(data) == entry["size_bytes"]
                if data:
                    content.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
            storages.append(storage)
        return [self._argument(argument, storages) for argument in call["arguments"]]

    @staticmethod
    def _argument(argument: Any, storages: list[Any]) -> Any:
        if "layout" not in argument:
            return next(iter(argument.values()))
        layout = argument["layout"]
        view = torch.empty(0, dtype=getattr(torch, layout["dtype"]))
        return view.set_(
            storages[argument["storage"]], layout["offset"], layout["shape"], layout["strides"]
        )

    def run_kernel(self, arguments: list[Any]) -> None:
        os.environ["_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR"] = str(
            torch._C._dynamo.guards._torchinductor_pyobject_tensor_data_ptr
        )
        entry = self.spec["artifact"]["entry"]
        spec = importlib.util.spec_from_file_location(
            f"{self.folder.name}.{entry}", self.folder / "kernel.so"
        )
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        getattr(module, entry)(*arguments[: len(self.spec["arguments"])])

    def run_fragment(self, arguments: list[Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for item in self.fragment["inputs"]:
            value = arguments[item["argument"]]
            values[item["node"]] = view_in(value, item["layout"]) if "layout" in item else value
        for node in self.fragment["graph"]["nodes"]:
            if node["kind"] == "call":
                args = [argument(a, values) for a in node["arguments"]]
                keywords = {k: argument(a, values) for k, a in node["keywords"].items()}
                values[node["name"]] = resolve(node["target"])(*args, **keywords)
        return values

    def differences(self, call: Any) -> list[str]:
        """What the fragment and the kernel's recorded object disagree about, in words."""
        after = self.arguments(call)
        self.run_kernel(after)
        values = self.run_fragment(self.arguments(call))
        found = []
        for output in self.fragment["outputs"]:
            if output["source"] == "unchecked":
                continue
            actual = after[output["argument"]]
            if "layout" in output:
                actual = view_in(actual, output["layout"])
            problem = difference(values[output["node"]], actual, self.is_half)
            if problem:
                found.append(f"{self.folder.name} {output['buffer']}={output['node']}: {problem}")
        return found


def view_in(argument: torch.Tensor, layout: Any) -> torch.Tensor:
    """A view whose offset and strides count from the argument's first element."""
    assert str(argument.dtype) == f"torch.{layout['dtype']}"
    return torch.empty(0, dtype=argument.dtype).set_(
        argument.untyped_storage(),
        argument.storage_offset() + layout["offset"],
        layout["shape"],
        layout["strides"],
    )


def argument(value: Any, values: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [argument(element, values) for element in value]
    if not isinstance(value, dict):
        return value
    if "node" in value:
        return values[value["node"]]
    if "float" in value:
        return float(value["float"])
    if "device" in value:
        return torch.device(value["device"])
    (name,) = value.values()
    return getattr(torch, name)


def resolve(target: str) -> Any:
    if target == "getitem":
        return operator.getitem
    namespace, name, overload = target.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload)


def difference(expected: torch.Tensor, actual: torch.Tensor, is_half: bool) -> str:
    if expected.shape != actual.shape:
        return f"shape {tuple(expected.shape)} and {tuple(actual.shape)}"
    if expected.dtype != actual.dtype:
        return f"dtype {expected.dtype} and {actual.dtype}"
    if not expected.dtype.is_floating_point:
        return "" if torch.equal(expected, actual) else "values"
    tolerance = {"rtol": 1.6e-2, "atol": 1e-2} if is_half else {"rtol": 2e-4, "atol": 2e-5}
    close = torch.isclose(expected.double(), actual.double(), equal_nan=True, **tolerance)
    return "" if bool(close.all()) else f"{int((~close).sum())} of {close.numel()} values"


def sites(run: Path) -> list[Site]:
    folders = sorted(run.glob("*/sites/*"))
    return [Site(run, folder) for folder in folders]
