"""Listens to the compiler and writes what it sees into a run: one site for each call of a kernel,
on disk before the kernel is built, and its calls once the module runs."""

from __future__ import annotations

import json
import threading
import traceback
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch

from fuseproof import _core, _side_file
from fuseproof._calls import CallRecorder, CallWriter, Site
from fuseproof._chain import Chain, Chains
from fuseproof._graph_record import GraphRecord, main_graph, new_record
from fuseproof._kernel_record import read_kernel
from fuseproof._lowering import origin_of
from fuseproof._sites import names_source_of, new_site, unsliced
from fuseproof._sizes import SymbolPlace
from fuseproof._torch_hooks import compiled_identity, internals

Json = dict[str, Any]

_MAX_FOLDER_NAME = 120  # Inductor's names grow with the number of fused ops


@dataclass
class _CachedGraph:
    """A graph that torch's cache served, before it joins the run."""

    compiled: Any  # the CompiledFxGraph
    content: Json
    sites: list[Site]
    objects: list[str]  # of each site: the path of the built kernel, or ""
    calls: CallRecorder


class _Loading(threading.local):
    """The graphs that a thread has loaded for one entry of AOTAutograd's cache, which may still
    turn out to be of no use; None outside of that."""

    graphs: list[_CachedGraph] | None = None


class Recorder:
    """The listener of Hooks. Thread-safe."""

    def __init__(self, writer: Any, inputs: str, calls: int) -> None:
        self.sites: list[Site] = []
        self.external_calls = 0
        self.cached_modules = 0  # that came out of a cache and were not captured
        self.recompiled = 0  # graphs that torch's cache held, but no side file spoke of
        self.problems: list[Json] = []
        self.graphs: list[GraphRecord] = []
        self._writer = writer
        self._call_writer = CallWriter(writer, inputs)
        self._calls = calls
        self._lock = threading.RLock()
        # How many nodes of a graph have been seen: a capture may begin in the middle of a compile.
        self._lowered: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._values: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
        self._constants: weakref.WeakKeyDictionary[Any, dict[str, torch.Tensor]] = (
            weakref.WeakKeyDictionary()
        )
        self._records: weakref.WeakKeyDictionary[Any, GraphRecord] = weakref.WeakKeyDictionary()
        self._call_recorders: list[CallRecorder] = []
        self._failed: weakref.WeakSet[Any] = weakref.WeakSet()  # main graphs: a gap in the record
        self._contents: dict[tuple[str, str], str | None] = {}  # of side files, until loaded
        self._loading = _Loading()
        self._chains = Chains()

    # What the hooks report.

    def compile_begun(self, module: object) -> None:
        with self._lock:
            self._chains.begin(module)

    def graph_traced(self, module: torch.fx.GraphModule) -> None:
        with self._lock:
            self._chains.traced(module)

    def compile_ended(self) -> None:
        with self._lock:
            self._chains.end()

    def node_lowered(self, graph: Any, node: torch.fx.Node, value: object) -> None:
        with self._recording(graph):
            self._lowered[graph] = self._lowered.get(graph, 0) + 1
            self._values.setdefault(graph, {})[node] = value
            if node.op != "get_attr":
                return
            constant: Any = graph.module
            for part in str(node.target).split("."):
                constant = getattr(constant, part)
            is_plain = type(constant) in (torch.Tensor, torch.nn.Parameter)
            if is_plain and constant.layout is torch.strided:  # else a weight packed by a library
                self._constants.setdefault(graph, {})[node.name] = constant.detach()

    def kernel_defined(
        self, graph: Any, name: str, source: str, scheduler_nodes: list[Any], kernel_args: Any
    ) -> None:
        with self._recording(graph):
            record = self._record(graph)
            kernel_record = read_kernel(record.facts, name, scheduler_nodes, kernel_args)
            try:
                sliced = json.loads(record.lowered.slice(json.dumps(kernel_record)))
            except Exception as error:  # the kernel stays on record, with the reason
                self.problem("slice", traceback.format_exc())
                self._failed.add(main_graph(graph))
                sliced = unsliced(kernel_record, error)
            folder = _folder(len(self.sites), name)
            site = new_site(folder, record, source, kernel_record, sliced)
            self._write_site(site, "")
            self._records[main_graph(graph)].sites.append(site)
            self.sites.append(site)
            record.order.append({"kind": "kernel", "site": site.name})

    def external_called(self, graph: Any, scheduler_node: Any) -> None:
        operation = scheduler_node.node
        if isinstance(operation, internals().ir.MultiOutput):
            return  # an element of the call before
        with self._recording(graph):
            record = self._record(graph)
            name = getattr(operation, "python_kernel_name", None) or type(operation).__name__
            record.order.append(
                {
                    "kind": "external",
                    "kernel": str(name),
                    "node": origin_of(operation, record.facts.order),
                    "reads": [dep.name for dep in scheduler_node.read_writes.reads],
                    "writes": [buffer.get_name() for buffer in scheduler_node.get_outputs()],
                }
            )
            self.external_calls += 1

    def module_loading(self, graph: Any | None, path: str) -> None:
        """Before the module is executed, hence before its kernels are built."""
        with self._lock:
            record = None if graph is None else self._records.get(main_graph(graph))
            if record is not None:
                self._write_graphs_of(record.main_id)

    def module_loaded(self, graph: Any | None, module: Any) -> None:
        with self._lock:
            if graph is None:
                self.cached_modules += hasattr(module, "call")
                return
            record = self._records.get(main_graph(graph))
            if record is None:
                return
            self._close(record.main_id)
            for site, path in zip(record.sites, _objects(record.sites, module), strict=True):
                if path:
                    self._write_site(site, path)
            self._call_recorders.append(self._observe(record.sites, record.symbol_places, module))

    def graph_compiled(self, graph: Any, compiled: Any, was_withheld: bool) -> None:
        """After its module was loaded: all of it is known now, and its side file is written."""
        with self._recording(graph):
            self.recompiled += was_withheld
            main = self._records.get(graph)
            records = [] if main is None else self._family(main.main_id)
            is_whole = self._lowered.get(graph, 0) >= len(graph.module.graph.nodes)
            if is_whole and graph not in self._failed:
                sites = [] if main is None else main.sites
                # A plain weight whose packed copy is used: without a side file the graph is
                # compiled again the next time.
                with suppress(_side_file.ConstantNotKept):
                    content = _side_file.content_of(records, sites, graph.constants)
                    _side_file.write(compiled, content)
            for record in records:
                record.release()

    # Graphs that torch's caches hold.

    def knows(self, compiled: Any) -> bool:
        with self._lock:
            identity = compiled_identity(compiled)
            if self._contents.get(identity) is None:
                self._contents[identity] = _side_file.read(compiled)
            return self._contents[identity] is not None

    def cached_module_loaded(self, compiled: Any, module: Any) -> None:
        with self._lock:
            if not self.knows(compiled):
                self.cached_modules += hasattr(module, "call")
                return
            content = _side_file.parse(self._contents.pop(compiled_identity(compiled)) or "")
            sites = _side_file.sites_from(content, module)
            objects = _objects(sites, module)
            places = _side_file.symbol_places(content)
            calls = self._observe(sites, places, module)
            loaded = _CachedGraph(compiled, content, sites, objects, calls)
            if self._loading.graphs is None:
                self._join(loaded)
            else:
                self._loading.graphs.append(loaded)

    def cached_graphs_loading(self) -> None:
        self._loading.graphs = []

    def cached_graphs_loaded(self) -> None:
        graphs, self._loading.graphs = self._loading.graphs, None
        with self._lock:
            for loaded in graphs or []:
                self._join(loaded)

    def cached_graphs_dropped(self) -> None:
        graphs, self._loading.graphs = self._loading.graphs, None
        for loaded in graphs or []:
            loaded.calls.detach()

    def _join(self, loaded: _CachedGraph) -> None:
        try:
            self._adopt(loaded)
        except Exception:
            loaded.calls.detach()
            raise

    def _adopt(self, loaded: _CachedGraph) -> None:
        """Makes a graph out of the cache a part of the run, as if it had been compiled."""
        main_id = self._next_id()
        first = len(self.sites)
        names = [_folder(first + i, site.kernel) for i, site in enumerate(loaded.sites)]
        _side_file.name_sites(loaded.content, loaded.sites, names, main_id)
        chain = self._complete_chain(loaded)
        self.graphs += _side_file.graphs_from(loaded.content, main_id, loaded.sites, chain)
        self.sites += loaded.sites
        self._call_recorders.append(loaded.calls)
        self.external_calls += sum(
            item["kind"] == "external"
            for graph in loaded.content["graphs"]
            for item in graph["order"]
        )
        for site, path in zip(loaded.sites, loaded.objects, strict=True):
            self._write_site(site, path)
        self._write_graphs_of(main_id)
        for record in self._family(main_id):
            record.release()

    def _complete_chain(self, loaded: _CachedGraph) -> Chain:
        chain = self._chains.current()
        try:
            return _side_file.complete(loaded.compiled, loaded.content, chain)
        except _core.Error as error:  # a cache that may only be read
            self.problem("side_file", str(error))
            return chain

    def module_failed(self, graph: Any | None, error: Exception) -> None:
        """A kernel did not build, or the module does not run."""
        with self._lock:
            record = None if graph is None else self._records.get(main_graph(graph))
            if record is None:
                return
            self._close(record.main_id)
            failed = [site for site in record.sites if names_source_of(error, site)]
            for site in failed:
                site.spec["artifact"]["build_error"] = str(error)
                self._write_site(site, "")
            if not failed:
                self.problem("module_failed", f"graph {record.id} does not load: {error}")

    def problem(self, where: str, text: str) -> None:
        self.problems.append({"where": where, "text": text})

    # The rest of the capture.

    def detach(self) -> None:
        for recorder in self._call_recorders:
            recorder.detach()

    def finish(self) -> None:
        """Writes the graphs whose modules were never loaded, and the last state of the counts."""
        for record in self.graphs:
            self._write_graph(record)
            record.close()
            record.release()
        self._update_info()

    def _update_info(self) -> None:
        graphs = [record.info() for record in self.graphs]
        self._writer.update_info(json.dumps({"graphs": graphs, "counts": self.counts()}))

    def _write_site(self, site: Site, path: str) -> None:
        self._writer.write_site(json.dumps(site.spec), json.dumps(site.fragment), site.source, path)

    def _observe(
        self, sites: list[Site], symbol_places: list[SymbolPlace], module: Any
    ) -> CallRecorder:
        recorder = CallRecorder(
            sites,
            symbol_places,
            vars(module),
            self._call_writer,
            calls=self._calls,
            report=self._report_call,
        )
        recorder.attach()
        return recorder

    def _family(self, main_id: str) -> list[GraphRecord]:
        """A main graph and its sub-graphs."""
        return [record for record in self.graphs if record.main_id == main_id]

    def _write_graphs_of(self, main_id: str) -> None:
        for record in self._family(main_id):
            self._write_graph(record)
        self._update_info()

    def _write_graph(self, record: GraphRecord) -> None:
        if record.document is not None:
            lowered = {**record.document, "order": record.order}
            documents = {**record.chain.documents(), "graph": lowered}
            for name, document in documents.items():
                self._writer.write_graph(record.id, name, json.dumps(document))

    def _close(self, main_id: str) -> None:
        for record in self._family(main_id):
            record.close()

    def counts(self) -> Json:
        outputs = [output for site in self.sites for output in site.fragment["outputs"]]
        reasons = Counter(
            output["reason"].partition(":")[0] for output in outputs if "reason" in output
        )
        live = [output for output in outputs if output["is_live"]]
        return {
            "kernels": len(self.sites),
            "fragments": sum("failure" not in site.fragment for site in self.sites),
            "outputs": len(outputs),
            "outputs_checked": _checked(outputs, "fx", "loop_body"),
            "outputs_checked_by_loop_body": _checked(outputs, "loop_body"),
            "live_outputs": len(live),
            "live_outputs_checked": _checked(live, "fx", "loop_body"),
            "live_outputs_checked_by_loop_body": _checked(live, "loop_body"),
            "unchecked_reasons": dict(reasons),
            "external_calls": self.external_calls,
            "calls": sum(site.recorded for site in self.sites),
        }

    def failures(self) -> Counter[str]:
        """Why kernels have no fragment."""
        return Counter(
            site.fragment["failure"].partition(":")[0]
            for site in self.sites
            if "failure" in site.fragment
        )

    @contextmanager
    def _recording(self, graph: Any) -> Iterator[None]:
        """A failure leaves a gap in the graph's record, and a record with gaps is not kept for the
        next time."""
        with self._lock:
            try:
                yield
            except Exception:
                if graph is not None:
                    self._failed.add(main_graph(graph))
                raise

    def _next_id(self) -> str:
        return str(sum("." not in known.id for known in self.graphs))

    def _report_call(self, text: str) -> None:
        self.problem("call", text)

    def _record(self, graph: Any) -> GraphRecord:
        record = self._records.get(graph)
        if record is not None:
            return record
        identifier = self._next_id()
        main = main_graph(graph)
        if main is not graph:
            parent = self._records.get(main) or self._record(main)
            children = sum(known.id.startswith(parent.id + ".") for known in self.graphs)
            identifier = f"{parent.id}.{children}"
        record = new_record(
            graph, identifier, self._values.pop(graph, {}), self._constants.get(graph, {})
        )
        if main is graph:
            record.chain = self._chains.current()
        self._records[graph] = record
        self.graphs.append(record)
        return record


def _checked(outputs: list[Json], *sources: str) -> int:
    return sum(output["source"] in sources for output in outputs)


def _folder(number: int, kernel: str) -> str:
    return f"{number:03d}_{kernel}"[:_MAX_FOLDER_NAME]


def _objects(sites: list[Site], module: Any) -> list[str]:
    """The file of each site's built kernel, in a loaded module; "" where there is none."""
    kernels = [vars(module).get(site.kernel) for site in sites]
    return [str(getattr(getattr(k, "__self__", None), "__file__", None) or "") for k in kernels]
