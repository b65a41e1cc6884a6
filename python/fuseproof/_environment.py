"""What a run says about the program, the machine and the settings that it was made with."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import sys
import time
from typing import Any

import torch

from fuseproof._core import __version__, cpu_description
from fuseproof._torch_hooks import internals

Json = dict[str, Any]

# The configuration of Inductor that decides what C++ kernels look like.
_CONFIG_NAMES = (
    "cpp.threads",
    "cpp.simdlen",
    "cpp.enable_floating_point_contract_flag",
    "cpp.enable_unsafe_math_opt_flag",
    "cpp.enable_loop_tail_vec",
    "cpp.fallback_scatter_reduce_sum",
    "cpp.dynamic_threads",
    "cpp_wrapper",
    "emulate_precision_casts",
    "epilogue_fusion",
    "fallback_random",
    "freezing",
    "layout_optimization",
    "max_autotune",
    "max_fusion_size",
    "realize_reads_threshold",
)


@functools.cache
def compiler_version(compiler: str) -> str:
    try:
        run = subprocess.run(
            [compiler, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.partition("\n")[0]


def build_recipe() -> Json:
    """How CppPythonBindingsCodeCache builds a kernel now (codecache.CppCodeCache.load_async, for a
    source that is not split in two)."""
    names = internals()
    options = names.BuildOptions(
        vec_isa=names.pick_vec_isa(), include_pytorch=False, shared=True, device_type="cpu"
    )
    passed_through = " ".join(options.get_passthrough_args()).split()
    flags = [flag.removeprefix("-") for flag in (*options.get_cflags(), *options.get_ldflags())]
    flags += [flag.removeprefix("-") for flag in passed_through]
    standards = [flag.removeprefix("std=") for flag in flags if flag.startswith("std=")]
    return {
        "compiler": options.get_compiler(),
        "compiler_version": compiler_version(options.get_compiler()),
        "standard": standards[-1] if standards else "",
        "flags": [flag for flag in dict.fromkeys(flags) if not flag.startswith("std=")],
        "defines": [definition.strip() for definition in options.get_definitions()],
        "libraries": list(options.get_libraries()),
    }


def _config() -> Json:
    config = {}
    for name in _CONFIG_NAMES:
        value: Any = internals().inductor_config
        for part in name.split("."):
            value = getattr(value, part, None)
        config[name] = value if isinstance(value, (bool, int, float, str)) else repr(value)
    return config


def run_info(inputs: str, calls: int, byte_budget: int | None) -> Json:
    prefix = "TORCHINDUCTOR_"
    return {
        "command": [sys.executable, *sys.orig_argv[1:]],
        "working_directory": os.getcwd(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": {
            "fuseproof": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "compiler": compiler_version(internals().get_cpp_compiler()),
        },
        "cpu": cpu_description(),
        "threads": torch.get_num_threads(),
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith(prefix)},
        "inductor_config": _config(),
        "capture": {"inputs": inputs, "calls": calls, "byte_budget": byte_budget},
        "graphs": [],
    }
