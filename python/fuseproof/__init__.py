"""Fuseproof puts the kernels that torch.compile fuses to the proof."""

from fuseproof._check import Finding, check
from fuseproof._core import (
    BadInputError,
    Error,
    FileAccessError,
    InternalError,
    UnsupportedError,
    UsageError,
    __version__,
    cpu_description,
)

__all__ = [
    "BadInputError",
    "CaptureWarning",
    "Error",
    "FileAccessError",
    "Finding",
    "InternalError",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "capture",
    "check",
    "cpu_description",
]


# These need torch, which takes seconds to import: only when they are asked for.
_IN_CAPTURE = {"capture": "Capture", "CaptureWarning": "CaptureWarning"}


def __getattr__(name: str) -> object:
    if name not in _IN_CAPTURE:
        raise AttributeError(f"module 'fuseproof' has no attribute '{name}'")
    from fuseproof import _capture

    globals()[name] = getattr(_capture, _IN_CAPTURE[name])
    return globals()[name]
