"""Runs a script inside a capture: python -m fuseproof.run_script --out RUN script.py ARGS…

The script runs as __main__ with its own sys.argv and sys.path[0]; its exit status is passed on.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Sequence

from fuseproof._core import Error


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m fuseproof.run_script",
        description="Runs a Python script or module and captures the kernels that it compiles.",
        epilog="example: python -m fuseproof.run_script --out RUN train.py --steps 3",
    )
    parser.add_argument("--out", required=True, metavar="RUN", help="folder to create")
    parser.add_argument("--inputs", choices=("real", "layout"), default="real")
    parser.add_argument("--calls", type=int, default=1, help="calls recorded of each call site")
    parser.add_argument("--byte-budget", type=int, default=None, metavar="BYTES")
    parser.add_argument("-m", dest="is_module", action="store_true", help="script is a module")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> None:
    sys.argv = [options.script, *options.arguments]
    if options.is_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(options.script))
        runpy.run_path(options.script, run_name="__main__")


def main(arguments: Sequence[str]) -> int:
    options = _parse(arguments)
    if not options.is_module and not os.path.exists(options.script):
        print(f"fuseproof: there is no script {options.script}", file=sys.stderr)
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
