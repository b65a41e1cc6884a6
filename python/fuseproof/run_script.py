"""Runs a script inside a capture: python -m fuseproof.run_script --out RUN [--] script.py ARGS…

Everything from the script on, or from `-m MODULE` on, is the script's own. The script runs as
__main__ with its own sys.argv and sys.path[0]; its exit status is passed on.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec

from fuseproof._core import Error

_OPTIONS = ("--out", "--inputs", "--calls", "--byte-budget")  # each takes a value


def _split(arguments: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """Our options, and the script with its own."""
    end = 0
    while end < len(arguments) and arguments[end].partition("=")[0] in _OPTIONS:
        end += 1 if "=" in arguments[end] else 2
    is_marked = end < len(arguments) and arguments[end] == "--"
    return arguments[:end], list(arguments[end + is_marked :])


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    own, script = _split(arguments)
    parser = argparse.ArgumentParser(
        prog="python -m fuseproof.run_script",
        description="Runs a Python script or module and captures the kernels that it compiles.",
        epilog="example: python -m fuseproof.run_script --out RUN train.py --steps 3",
    )
    parser.add_argument("--out", required=True, metavar="RUN", help="folder to create")
    parser.add_argument("--inputs", choices=("real", "layout"), default="real")
    parser.add_argument("--calls", type=int, default=1, help="calls recorded of each call site")
    parser.add_argument("--byte-budget", type=int, default=None, metavar="BYTES")
    parser.usage = f"{parser.format_usage().partition(': ')[2].strip()} [-m] SCRIPT ARGS…"
    if script[:1] in (["-h"], ["--help"]):
        parser.parse_args(script)
    options = parser.parse_args(own)
    options.is_module = script[:1] == ["-m"]
    options.arguments = script[1:] if options.is_module else script
    if not options.arguments:
        parser.error("a script is missing")
    options.script = options.arguments.pop(0)
    return options


def _is_module(name: str) -> bool:
    """Whether `python -m NAME` would find something to run. Packages on the way are imported only
    if they cannot be seen through without: an import may compile, and belongs into the capture."""
    path = None
    spec = None
    for part in range(name.count(".") + 1):
        qualified = ".".join(name.split(".")[: part + 1])
        spec = _find(qualified, path)
        if spec is None:
            break
        path = spec.submodule_search_locations
        if path is None and qualified != name:
            return False
    try:
        spec = spec or importlib.util.find_spec(name)
    except ImportError:
        return False
    if spec is None or spec.submodule_search_locations is None:
        return spec is not None
    return _find(f"{name}.__main__", spec.submodule_search_locations) is not None


def _find(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    specs = (finder.find_spec(name, path) for finder in sys.meta_path)
    return next((spec for spec in specs if spec is not None), None)


def _problem(options: argparse.Namespace) -> str:
    """Why there is nothing to run; "" when there is."""
    script = options.script
    if options.is_module:
        return "" if _is_module(script) else f"Python finds no module {script} that it can run"
    if not os.path.exists(script):
        return f"there is no script {script}"
    if not os.access(script, os.R_OK):
        return f"the script {script} cannot be read"
    if os.path.isdir(script) and not os.path.exists(os.path.join(script, "__main__.py")):
        return f"the folder {script} has no __main__.py"
    return ""


def _run(options: argparse.Namespace) -> None:
    sys.argv = [options.script, *options.arguments]
    if options.is_module:
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(options.script))
        runpy.run_path(options.script, run_name="__main__")


def main(arguments: Sequence[str]) -> int:
    options = _parse(arguments)
    if options.is_module:
        sys.path[0] = os.getcwd()
    if problem := _problem(options):
        print(f"fuseproof: {problem}", file=sys.stderr)
        return 2
    try:
        from fuseproof._capture import Capture

        capture = Capture(
            options.out,
            inputs=options.inputs,
            calls=options.calls,
            byte_budget=options.byte_budget,
        ).start()
    except Error as error:
        print(f"fuseproof: {error}", file=sys.stderr)
        return int(getattr(error, "exit_status", 3))
    try:
        _run(options)  # SystemExit and exceptions of the script pass through
    finally:
        capture.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
