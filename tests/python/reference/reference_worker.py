"""Speaks to `fuseproof-reference` as its C++ client does: length-prefixed JSON and descriptors."""

import ctypes
import hashlib
import json
import mmap
import os
import socket
import struct
import subprocess
from pathlib import Path

import pytest
import torch
from reference_graphs import call_json

PAGE = 4096
BUILDS = Path(__file__).parents[3] / "build"


def worker_path():
    named = os.environ.get("FUSEPROOF_REFERENCE_WORKER")
    if named:
        return named
    built = sorted(BUILDS.glob("*/bin/fuseproof-reference"), key=lambda path: path.stat().st_mtime)
    if not built:
        pytest.fail(
            "no fuseproof-reference under build/: build it, or set "
            "FUSEPROOF_REFERENCE_WORKER to its path"
        )
    return str(built[-1])


def storage_bytes(storage):
    return ctypes.string_at(storage.data_ptr(), storage.nbytes()) if storage.nbytes() else b""


def make_arena(storages):
    """A memfd that holds the storages, and its description; the descriptor is the caller's."""
    slots = []
    end = 0
    for storage in storages:
        offset = end + PAGE + (storage.data_ptr() % 64)
        rear = (offset + storage.nbytes() + PAGE - 1) // PAGE * PAGE + PAGE
        slots.append({"offset": offset, "size_bytes": storage.nbytes(), "begin": end, "end": rear})
        end = rear
    fd = os.memfd_create("test-arena")
    os.ftruncate(fd, max(end, PAGE))
    for slot, storage in zip(slots, storages, strict=False):
        os.pwrite(fd, storage_bytes(storage), slot["offset"])
    return fd, {"size_bytes": max(end, PAGE), "slots": slots}


def read_tensor(memory, slot, layout):
    dtype = getattr(torch, layout["dtype"])
    shape, strides = layout["shape"], layout["strides"]
    if slot["size_bytes"] == 0:
        return torch.empty_strided(shape, strides, dtype=dtype)
    data = bytearray(memory[slot["offset"] : slot["offset"] + slot["size_bytes"]])
    return torch.frombuffer(data, dtype=dtype).as_strided(shape, strides)


class WorkerError(Exception):
    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class Run:
    def __init__(self, document, memory, arena, python_nodes):
        self.python_nodes = python_nodes
        self.exception = document["exception"]
        self.no_oracle = document["no_oracle"]
        self.outputs = [
            read_tensor(memory, arena["slots"][output["storage"]], output["layout"])
            for output in document["outputs"]
        ]


class ReferenceWorker:
    def __init__(self, path, *options, environment=None):
        self.socket, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [path, "--channel", str(theirs.fileno()), *options],
            pass_fds=[theirs.fileno()],
            env={**os.environ, **(environment or {})},
        )
        theirs.close()

    def close(self):
        self.socket.close()
        return self.process.wait(timeout=30)

    def exchange(self, body, fds):
        text = json.dumps(body, allow_nan=False).encode()
        header = struct.pack("=II", len(text), len(fds))
        socket.send_fds(self.socket, [header], fds)
        self.socket.sendall(text)
        header, fds, _, _ = socket.recv_fds(self.socket, 8, 4)
        size, _ = struct.unpack("=II", header)
        text = b""
        while len(text) < size:
            part = self.socket.recv(size - len(text))
            if not part:
                raise EOFError("the worker ended in the middle of a reply")
            text += part
        return json.loads(text), fds

    def request(self, fragment, values, modes=("native",), keep_fragment=True, **call_options):
        """The worker's reply, its descriptors, and the input arena as it was afterwards."""
        call, storages = call_json(values, **call_options)
        fd, arena = make_arena(storages)
        body = {
            "request": "run",
            "program": hashlib.md5(json.dumps(fragment).encode()).hexdigest(),
            "fragment": fragment,
            "call": call,
            "arena": arena,
            "modes": list(modes),
        }
        if not keep_fragment:
            del body["fragment"]
        before = os.pread(fd, arena["size_bytes"], 0)
        try:
            reply, fds = self.exchange(body, [fd])
            assert os.pread(fd, arena["size_bytes"], 0) == before, "the worker changed its inputs"
        finally:
            os.close(fd)
        return reply, fds

    def run(self, fragment, values, modes=("native",), **options):
        reply, fds = self.request(fragment, values, modes, **options)
        if reply["reply"] == "error":
            raise WorkerError(reply["kind"], reply["message"])
        assert reply["reply"] == "result", reply
        (fd,) = fds
        with mmap.mmap(fd, reply["arena"]["size_bytes"], prot=mmap.PROT_READ) as memory:
            runs = [
                Run(run, memory, reply["arena"], reply["python_nodes"]) for run in reply["runs"]
            ]
        os.close(fd)
        return runs
