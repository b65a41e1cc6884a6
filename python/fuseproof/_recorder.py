"""Listens to the compiler and writes what it sees into a run: one site for each call of a kernel,
on disk before the kernel is built, and its calls once the module runs."""

from __future__ import annotations

import json
import threading
import traceback
import weakref
from collections import Counter
from typing import Any

import torch

from fuseproof._calls import CallRecorder, CallWriter, Site
from fuseproof._graph_record import GraphRecord, main_graph, new_record
from fuseproof._kernel_record import read_kernel
from fuseproof._lowering import node_order, origin_of
from fuseproof._sites import names_source_of, new_site, unsliced
from fuseproof._torch_hooks import internals

Json = dict[str, Any]

_MAX_FOLDER_NAME = 120  # Inductor's names grow with the number of fused ops


class Recorder:
    """The listener of Hooks. Thread-safe."""

    def __init__(self, writer: Any, inputs: str, calls: int) -> None:
        self.sites: list[Site] = []
        self.external_calls = 0
        self.cached_modules = 0
        self.problems: list[Json] = []
        self.graphs: list[GraphRecord] = []
        self._writer = writer
        self._call_writer = CallWriter(writer, inputs)
        self._calls = calls
        self._lock = threading.RLock()
        self._values: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
        self._constants: weakref.WeakKeyDictionary[Any, dict[str, torch.Tensor]] = (
            weakref.WeakKeyDictionary()
        )
        self._records: weakref.WeakKeyDictionary[Any, GraphRecord] = weakref.WeakKeyDictionary()
        self._call_recorders: list[CallRecorder] = []

    # What the hooks report.

    def node_lowered(self, graph: Any, node: torch.fx.Node, value: object) -> None:
        self._values.setdefault(graph, {})[node] = value
        if node.op != "get_attr":
            return
        constant: Any = graph.module
        for part in str(node.target).split("."):
            constant = getattr(constant, part)
        if type(constant) in (torch.Tensor, torch.nn.Parameter):
            self._constants.setdefault(graph, {})[node.name] = constant.detach()

    def kernel_defined(
        self, graph: Any, name: str, source: str, scheduler_nodes: list[Any], kernel_args: Any
    ) -> None:
        with self._lock:
            record = self._record(graph)
            kernel_record = read_kernel(record.facts, name, scheduler_nodes, kernel_args)
            try:
                sliced = json.loads(record.lowered.slice(json.dumps(kernel_record)))
            except Exception as error:  # the kernel stays on record, with the reason
                self.problem("slice", traceback.format_exc())
                sliced = unsliced(kernel_record, error)
            folder = f"{len(self.sites):03d}_{name}"[:_MAX_FOLDER_NAME]
            site = new_site(folder, record, source, kernel_record, sliced)
            self._writer.write_site(
                json.dumps(site.spec), json.dumps(site.fragment), site.source, ""
            )
            self._records[main_graph(graph)].sites.append(site)
            self.sites.append(site)
            record.order.append({"kind": "kernel", "site": site.name})

    def external_called(self, graph: Any, scheduler_node: Any) -> None:
        operation = scheduler_node.node
        if isinstance(operation, internals().ir.MultiOutput):
            return  # an element of the call before
        with self._lock:
            record = self._record(graph)
            name = getattr(operation, "python_kernel_name", None) or type(operation).__name__
            record.order.append(
                {
                    "kind": "external",
                    "kernel": str(name),
                    "node": origin_of(operation, node_order(graph)),
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
            for site in record.sites:
                kernel = vars(module).get(site.kernel)
                path = getattr(getattr(kernel, "__self__", None), "__file__", None)
                if path is not None:
                    self._writer.write_site(
                        json.dumps(site.spec), json.dumps(site.fragment), site.source, path
                    )
            recorder = CallRecorder(
                record.sites,
                record.symbol_places,
                vars(module),
                self._call_writer,
                calls=self._calls,
                report=self._report_call,
            )
            recorder.attach()
            self._call_recorders.append(recorder)

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
                self._writer.write_site(
                    json.dumps(site.spec), json.dumps(site.fragment), site.source, ""
                )
            if not failed:
                self.problem("module_failed", f"graph {record.id} does not load: {error}")

    def problem(self, where: str, text: str) -> None:
        self.problems.append({"where": where, "text": text})

    # The rest of the session.

    def detach(self) -> None:
        for recorder in self._call_recorders:
            recorder.detach()

    def finish(self) -> None:
        """Writes the graphs whose modules were never loaded, and the last state of the counts."""
        for record in self.graphs:
            self._write_graphs_of(record.main_id)
            record.close()
        self._update_info()

    def _update_info(self) -> None:
        graphs = [record.info() for record in self.graphs]
        self._writer.update_info(json.dumps({"graphs": graphs, "counts": self.counts()}))

    def _write_graphs_of(self, main_id: str) -> None:
        for record in self.graphs:
            if record.main_id == main_id and record.document is not None:
                document = {**record.document, "order": record.order}
                self._writer.write_graph(record.id, json.dumps(document))
        self._update_info()

    def _close(self, main_id: str) -> None:
        for record in self.graphs:
            if record.main_id == main_id:
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
            "outputs_checked": sum(output["source"] == "fx" for output in outputs),
            "live_outputs": len(live),
            "live_outputs_checked": sum(output["source"] == "fx" for output in live),
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

    def _report_call(self, text: str) -> None:
        self.problem("call", text)

    def _record(self, graph: Any) -> GraphRecord:
        record = self._records.get(graph)
        if record is not None:
            return record
        identifier = str(sum("." not in known.id for known in self.graphs))
        main = main_graph(graph)
        if main is not graph:
            parent = self._records.get(main) or self._record(main)
            children = sum(known.id.startswith(parent.id + ".") for known in self.graphs)
            identifier = f"{parent.id}.{children}"
        record = new_record(
            graph, identifier, self._values.pop(graph, {}), self._constants.get(graph, {})
        )
        self._records[graph] = record
        self.graphs.append(record)
        return record
