"""Writes expression_cases.h: symbolic numbers as torch prints them, and their values as sympy and
torch's own functions compute them.

    python tests/cpp/base/make_expression_cases.py > tests/cpp/base/expression_cases.h
"""

import sympy
from torch.utils._sympy import functions as f
from torch.utils._sympy.symbol import SymT, make_symbol

s0, s1 = (make_symbol(SymT.SIZE, i, positive=True, integer=True) for i in (0, 1))
u0 = make_symbol(SymT.UNBACKED_INT, 0, integer=True)
z0 = make_symbol(SymT.FLOAT, 0)

INTEGERS = [
    s0 + 1,
    4 * s0 * s1 - s1 + 3,
    s0**2 * s1,
    s0 * (s0 - 1) / 2,
    -s0 + s1,
    f.FloorDiv(s0, 2),
    f.FloorDiv(1 - s0, s1),
    s0 - f.FloorDiv(s0, 2),
    f.FloorDiv(s0 * s1, 4) * s1 + f.FloorDiv(s0 + 3, 4),
    f.ModularIndexing(s0, 2, 4),
    f.ModularIndexing(s0 * s1, s1, 5),
    f.PythonMod(u0, 4),
    f.PythonMod(-s0, s1 + 1),
    f.Mod(s0, 4),
    f.CleanDiv(s0 * s1, s1),
    f.CeilDiv(s0, 4),
    f.CeilToInt(f.IntTrueDiv(s0, 4)),
    f.FloorToInt(f.IntTrueDiv(s0, 4)),
    f.TruncToInt(f.IntTrueDiv(u0, 4)),
    f.RoundToInt(f.IntTrueDiv(s0, 2)),
    f.LShift(s0, s1),
    f.RShift(s0, s1),
    f.PowByNatural(s1, s0),
    f.Max(1, u0),
    f.Max(s0, 2 * s1, 9),
    f.Min(s0, s1 + 2),
    f.Where(s0 < 8, s0, 8),
    f.Where(sympy.Eq(s0, s1), 1, s0 * s1),
    f.Where(sympy.And(s0 > 3, s1 > 3), s0, s1),
    f.Where(sympy.Or(s0 > 3, s1 > 3), s0, s1),
    f.Where(sympy.Not(sympy.Ne(s0, s1)), s0, s1),
    f.Identity(s0 + s1),
    sympy.Piecewise((s0, s0 > 4), (s1, True)),
]
FLOATS = [
    f.IntTrueDiv(1, s0),
    f.IntTrueDiv(s0 + s1, 7),
    f.FloatTrueDiv(f.ToFloat(s0), 3.0),
    f.FloatPow(f.ToFloat(s0), 0.5),
    f.FloatPow(f.ToFloat(s0), -0.5),
    f.OpaqueUnaryFn_sqrt(f.ToFloat(s0)),
    f.OpaqueUnaryFn_log(f.ToFloat(s1)),
    f.OpaqueUnaryFn_exp(f.ToFloat(s1)),
    f.ToFloat(s0) * 2.5,
    z0 + 1.0,
    f.TruncToFloat(z0),
    f.ToFloat(s0) * z0,
]
CALLS = [
    {s0: 7, s1: 3, u0: -6, z0: 2.75},
    {s0: 2, s1: 2, u0: 0, z0: -0.5},
    {s0: 12, s1: 5, u0: 9, z0: 1e300},
]


def literal(value):
    return repr(float(value)) if isinstance(value, float) else str(int(value))


def value_at(expression, call, kind):
    value = expression
    # A few functions are not evaluated when their operands are replaced one after the other.
    value = value.xreplace({symbol: sympy.sympify(number) for symbol, number in call.items()})
    return kind(value.doit())


def cases(expressions, kind):
    for expression in expressions:
        values = [literal(value_at(expression, call, kind)) for call in CALLS]
        yield f'    {{"{expression}", {{{", ".join(values)}}}}},'


print("// Written by make_expression_cases.py; the values are sympy's and torch's.")
print("#pragma once\n\n#include <cstdint>\n#include <vector>\n")
print('#include "base/expression_value.h"\n\nnamespace fuseproof::testing {\n')
print("struct IntegerCase {\n  const char* text;\n  std::vector<std::int64_t> values;\n};")
print("struct FloatCase {\n  const char* text;\n  std::vector<double> values;\n};\n")
print("// The values that the cases are computed at.")
print("inline const std::vector<SymbolValues> kExpressionCalls = {")
for call in CALLS:
    pairs = (f'{{"{symbol}", {literal(number)}}}' for symbol, number in call.items())
    print(f"    {{{', '.join(pairs)}}},")
print("};\n\ninline const std::vector<IntegerCase> kIntegerCases = {")
print("\n".join(cases(INTEGERS, int)))
print("};\n\ninline const std::vector<FloatCase> kFloatCases = {")
print("\n".join(cases(FLOATS, float)))
print("};\n\n}  // namespace fuseproof::testing")
