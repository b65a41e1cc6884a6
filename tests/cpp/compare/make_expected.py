"""Write expected.h: what NumPy and PyTorch say about tensors that the C++ tests generate again.

The tensors come from a linear congruential generator and a recipe of bit patterns for each dtype;
pairs.h has the same two in C++. The metrics are computed in NumPy's longdouble (and asserted to
agree with PyTorch's float64 to its own accuracy), the conversions by torch. Run from anywhere:

    python tests/cpp/compare/make_expected.py
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import torch

EPSILON = float(torch.finfo(torch.float32).eps)
MASK = (1 << 64) - 1
CANONICAL_NAN = 0x7FF8000000000000


class Generator:
    """Knuth's MMIX generator; the upper 32 bits of each state."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def next(self) -> int:
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) & MASK
        return self._state >> 32


@dataclasses.dataclass(frozen=True)
class Recipe:
    """x = low + (random·span >> 32 << shift), y = x + (random % jitter << shift), then the sign."""

    name: str  # torch's
    enumerator: str
    bits: int
    low: int
    span: int
    shift: int
    jitter: int
    sign: str  # "none", "top" (sign and magnitude) or "negate"
    fraction: int = 0  # bits of the fraction of a float, and the exponent of its smallest normal
    smallest: int = 0
    nan: int = 0
    inf: int = 0
    parts: int = 1


FULL = (1 << 32) - 1
RECIPES = [
    Recipe("bool", "kBool", 8, 0, 2, 0, 2, "none"),
    Recipe("uint8", "kUint8", 8, 0, 250, 0, 4, "none"),
    Recipe("int8", "kInt8", 8, 0, 120, 0, 4, "negate"),
    Recipe("uint16", "kUint16", 16, 0, 65000, 0, 99, "none"),
    Recipe("int16", "kInt16", 16, 0, 32000, 0, 99, "negate"),
    Recipe("uint32", "kUint32", 32, 0, FULL - (1 << 20), 0, 1 << 20, "none"),
    Recipe("int32", "kInt32", 32, 0, 1 << 30, 0, 1 << 20, "negate"),
    Recipe("uint64", "kUint64", 64, 0, FULL, 18, 1 << 20, "none"),
    Recipe("int64", "kInt64", 64, 0, FULL, 18, 1 << 20, "negate"),
    Recipe("float8_e4m3fn", "kFloat8E4M3FN", 8, 0, 0x7D, 0, 2, "top", 3, -6, 0x7F),
    Recipe("float8_e5m2", "kFloat8E5M2", 8, 0, 0x7A, 0, 2, "top", 2, -14, 0x7E, 0x7C),
    Recipe("float8_e4m3fnuz", "kFloat8E4M3FNUZ", 8, 1, 0x7D, 0, 2, "top", 3, -7, 0x80),
    Recipe("float8_e5m2fnuz", "kFloat8E5M2FNUZ", 8, 1, 0x7D, 0, 2, "top", 2, -15, 0x80),
    Recipe("float16", "kFloat16", 16, 0x2C00, 0x1400, 0, 4, "top", 10, -14, 0x7E00, 0x7C00),
    Recipe("bfloat16", "kBFloat16", 16, 0x3D80, 0x0280, 0, 3, "top", 7, -126, 0x7FC0, 0x7F80),
    Recipe(
        "float32",
        "kFloat32",
        32,
        0x3D800000,
        0x02800000,
        0,
        2048,
        "top",
        23,
        -126,
        0x7FC00000,
        0x7F800000,
    ),
    Recipe(
        "float64",
        "kFloat64",
        64,
        0x3FB0 << 48,
        FULL,
        22,
        1 << 18,
        "top",
        52,
        -1022,
        0x7FF8 << 48,
        0x7FF0 << 48,
    ),
    Recipe("complex32", "kComplex32", 16, 0x2C00, 0x1400, 0, 4, "top", 10, -14, parts=2),
    Recipe(
        "complex64", "kComplex64", 32, 0x3D800000, 0x02800000, 0, 2048, "top", 23, -126, parts=2
    ),
    Recipe(
        "complex128", "kComplex128", 64, 0x3FB0 << 48, FULL, 22, 1 << 18, "top", 52, -1022, parts=2
    ),
]
PART_OF = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}


def with_sign(recipe: Recipe, magnitude: int, negative: int) -> int:
    if recipe.sign == "none" or not negative:
        return magnitude
    if recipe.sign == "top":
        return magnitude | 1 << (recipe.bits - 1)
    return -magnitude & ((1 << recipe.bits) - 1)


def special_bits(recipe: Recipe, index: int, specials: int) -> tuple[int, int] | None:
    """Return the patterns of a pair that is not finite: 1 puts aligned ones in, 2 others too."""
    negative_inf = recipe.inf | 1 << (recipe.bits - 1)
    if specials >= 1 and index % 97 == 5:
        return recipe.nan, recipe.nan
    if specials >= 1 and index % 101 == 7:
        return recipe.inf, recipe.inf
    if specials >= 1 and index % 103 == 11:
        return negative_inf, negative_inf
    if specials >= 2 and index % 107 == 13:
        return recipe.nan, recipe.inf
    if specials >= 2 and index % 109 == 17:
        return recipe.inf, negative_inf
    return None


def make_bits(recipe: Recipe, parts: int, specials: int) -> tuple[np.ndarray, np.ndarray]:
    generator = Generator(parts)
    unsigned = np.dtype(f"uint{recipe.bits}")
    x, y = np.zeros(parts, unsigned), np.zeros(parts, unsigned)
    for i in range(parts):
        magnitude = recipe.low + ((generator.next() * recipe.span >> 32) << recipe.shift)
        random = generator.next()
        moved = magnitude + ((random >> 1) % recipe.jitter << recipe.shift)
        if recipe.name == "bool":
            moved &= 1
        x[i] = with_sign(recipe, magnitude, random & 1)
        y[i] = with_sign(recipe, moved, random & 1)
        special = special_bits(recipe, i, specials)
        if special is not None:
            x[i], y[i] = special
    return x, y


def decode(bits: np.ndarray, name: str) -> np.ndarray:
    """Return the numbers behind the patterns as float64, according to torch or NumPy."""
    part = PART_OF.get(name, name)
    if part.startswith(("uint", "int")):
        return bits.view(part).astype(np.float64)
    return torch.from_numpy(bits.copy()).view(getattr(torch, part)).to(torch.float64).numpy()


def normalise(values: np.ndarray) -> np.ndarray:
    span = values.max() - values.min()
    scaled = (values - values.min()) / span if span >= EPSILON else np.zeros_like(values)
    return np.maximum(scaled, np.longdouble(EPSILON))


def safe_cosine(x: np.ndarray, y: np.ndarray) -> np.longdouble:
    x_norm, y_norm = np.sqrt((x * x).sum()), np.sqrt((y * y).sum())
    if x_norm < EPSILON or y_norm < EPSILON:
        return np.longdouble(x_norm < EPSILON and y_norm < EPSILON)
    return ((x / x_norm) * (y / y_norm)).sum()


def safe_rel_euclid(x: np.ndarray, y: np.ndarray) -> np.longdouble:
    numerator, denominator = ((x - y) ** 2).sum(), (y * y).sum()
    if denominator < EPSILON:
        return np.longdouble(0 if numerator < EPSILON else math.inf)
    return np.sqrt(numerator / denominator)


def metrics(x64: np.ndarray, y64: np.ndarray) -> dict[str, float]:
    if len(x64) == 0:
        return {
            "cosine": 1,
            "rel_euclid": 0,
            "kl": 0,
            "kl_literal": 0,
            "mae": 0,
            "rmse": 0,
            "max_abs": 0,
        }
    x, y = x64.astype(np.longdouble), y64.astype(np.longdouble)
    p, q = normalise(x), normalise(y)
    p_one, q_one = p / p.sum(), q / q.sum()
    distance = np.abs(x - y)
    return {
        "cosine": float(safe_cosine(x, y)),
        "rel_euclid": float(safe_rel_euclid(x, y)),
        "kl": float((p_one * np.log(p_one / q_one)).sum()),
        "kl_literal": float((p * np.log(p / q)).sum()),
        "mae": float(distance.mean()),
        "rmse": float(np.sqrt((distance**2).mean())),
        "max_abs": float(distance.max()),
    }


def assert_torch_agrees(x: np.ndarray, y: np.ndarray, expected: dict[str, float]) -> None:
    if len(x) < 2 or np.ptp(x) < EPSILON or np.ptp(y) < EPSILON or not np.any(y):
        return
    a, b = torch.from_numpy(x.copy()), torch.from_numpy(y.copy())
    p = ((a - a.min()) / (a.max() - a.min())).clamp_min(EPSILON)
    q = ((b - b.min()) / (b.max() - b.min())).clamp_min(EPSILON)
    p_one, q_one = p / p.sum(), q / q.sum()
    found = {
        "cosine": ((a / a.norm()) * (b / b.norm())).sum(),
        "rel_euclid": torch.sqrt(((a - b) ** 2).sum() / (b**2).sum()),
        "kl": (p_one * torch.log(p_one / q_one)).sum(),
        "kl_literal": (p * torch.log(p / q)).sum(),
        "mae": (a - b).abs().mean(),
        "rmse": torch.sqrt(((a - b) ** 2).mean()),
        "max_abs": (a - b).abs().max(),
    }
    for name, value in found.items():
        assert math.isclose(float(value), expected[name], rel_tol=1e-9, abs_tol=1e-13), (
            name,
            float(value),
            expected[name],
        )


def ulp_distance(recipe: Recipe, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if recipe.fraction == 0:
        return np.abs(x - y)
    larger = np.maximum(np.abs(x), np.abs(y))
    exponent = np.maximum(np.frexp(larger)[1] - 1, recipe.smallest)
    exponent[larger == 0] = recipe.smallest
    spacing = np.ldexp(1.0, exponent - recipe.fraction)
    part = PART_OF.get(recipe.name, recipe.name)
    if part in ("float16", "float32", "float64"):
        assert np.array_equal(spacing, np.spacing(larger.astype(part)).astype(np.float64))
    return np.abs(x - y) / spacing


def first_of_largest(values: np.ndarray, kept: np.ndarray) -> int:
    """Return the index, among all parts, of the first largest of the kept ones; 0 if all are 0."""
    if len(values) == 0 or values.max() == 0:
        return 0
    return int(np.flatnonzero(kept)[np.argmax(values)])


def metrics_row(recipe: Recipe, count: int, specials: int) -> str:
    parts = count * recipe.parts
    x_bits, y_bits = make_bits(recipe, parts, specials)
    all_x, all_y = decode(x_bits, recipe.name), decode(y_bits, recipe.name)
    kept = np.isfinite(all_x) & np.isfinite(all_y)
    same = (all_x == all_y) | (np.isnan(all_x) & np.isnan(all_y))
    x, y = all_x[kept], all_y[kept]
    numbers = metrics(x, y)
    assert_torch_agrees(x, y, numbers)
    ulps = ulp_distance(recipe, x, y)
    columns = [
        f"DType::{recipe.enumerator}",
        str(count),
        str(specials),
        str(int((~kept & same).sum())),
        str(int((~kept & ~same).sum())),
        *(f"{value:.17g}" for value in numbers.values()),
        str(first_of_largest(np.abs(x - y), kept)),
        f"{ulps.max() if len(ulps) else 0:.17g}",
        str(first_of_largest(ulps, kept)),
    ]
    return "    {" + ", ".join(columns) + "},"


def digest(values: np.ndarray) -> str:
    """Return the FNV-1a hash of float64 patterns, word by word, all NaNs alike."""
    patterns = values.view(np.uint64).copy()
    patterns[np.isnan(values)] = CANONICAL_NAN
    result = 0xCBF29CE484222325
    for pattern in patterns.tolist():
        result = ((result ^ pattern) * 0x100000001B3) & MASK
    return f"{result:#018x}"


def rounding_inputs() -> np.ndarray:
    """Return float32 numbers of all sizes: there torch rounds once, as the product must."""
    generator = Generator(20)
    patterns = [generator.next() for _ in range(20000)]
    # Few low bits in half of them, so that ties are frequent.
    patterns = [p & 0xFFFF8000 if i % 2 else p for i, p in enumerate(patterns)]
    # Exponents around those of the small formats in three of four.
    patterns = [p if i % 4 == 0 else p & 0x8FFFFFFF | 0x30000000 for i, p in enumerate(patterns)]
    return np.array(patterns, np.uint32).view(np.float32)


def conversion_row(recipe: Recipe) -> str:
    dtype = getattr(torch, recipe.name)
    every = np.arange(1 << recipe.bits, dtype=f"uint{recipe.bits}")
    rounded = torch.from_numpy(rounding_inputs()).to(dtype).to(torch.float64).numpy()
    return (
        f"    {{DType::{recipe.enumerator}, {digest(decode(every, recipe.name))}, "
        f"{digest(rounded)}}},"
    )


def recipe_row(recipe: Recipe) -> str:
    sign = {"none": "kNone", "top": "kTop", "negate": "kNegate"}[recipe.sign]
    return (
        f"    {{DType::{recipe.enumerator}, {recipe.low:#x}, {recipe.span:#x}, {recipe.shift}, "
        f"{recipe.jitter:#x}, Sign::{sign}, {recipe.nan:#x}, {recipe.inf:#x}}},"
    )


HEADER = """// Written by make_expected.py; do not edit.
#pragma once

#include "compare/pairs.h"

namespace fuseproof::test {

// dtype, low, span, shift, jitter, sign, nan, inf
inline constexpr Recipe kRecipes[] = {
%s
};

// dtype, count, specials, aligned, mismatched, cosine, rel_euclid, kl, kl_literal, mae, rmse,
// max_abs, max_abs_index, ulp, ulp_index
inline constexpr ExpectedMetrics kExpectedMetrics[] = {
%s
};

// dtype, digest of all values, digest of rounded float32 values
inline constexpr ExpectedConversions kExpectedConversions[] = {
%s
};

}  // namespace fuseproof::test
"""

# Around the borders of vectors, blocks (2048) and chunks (131072).
FLOAT32_COUNTS = [
    0,
    1,
    2,
    3,
    7,
    8,
    9,
    15,
    16,
    17,
    31,
    33,
    2047,
    2048,
    2049,
    4097,
    131071,
    131072,
    131073,
    300001,
]
SPECIAL = ("float16", "bfloat16", "float32", "float64")


def main() -> None:
    rows = []
    for recipe in RECIPES:
        counts = FLOAT32_COUNTS if recipe.name == "float32" else [1, 17, 2049]
        rows += [metrics_row(recipe, count, 0) for count in counts]
        if recipe.name in SPECIAL:
            rows += [metrics_row(recipe, 5000, specials) for specials in (1, 2)]
    small_floats = [r for r in RECIPES if r.fraction > 0 and r.parts == 1 and r.bits <= 16]
    content = HEADER % (
        "\n".join(recipe_row(r) for r in RECIPES),
        "\n".join(rows),
        "\n".join(conversion_row(r) for r in small_floats),
    )
    Path(__file__).with_name("expected.h").write_text(content)


if __name__ == "__main__":
    main()
