// Written by make_expression_cases.py; the values are sympy's and torch's.
#pragma once

#include <cstdint>
#include <vector>

#include "base/expression_value.h"

namespace fuseproof::testing {

struct IntegerCase {
  const char* text;
  std::vector<std::int64_t> values;
};
struct FloatCase {
  const char* text;
  std::vector<double> values;
};

// The values that the cases are computed at.
inline const std::vector<SymbolValues> kExpressionCalls = {
    {{"s0", 7}, {"s1", 3}, {"u0", -6}, {"zf0", 2.75}},
    {{"s0", 2}, {"s1", 2}, {"u0", 0}, {"zf0", -0.5}},
    {{"s0", 12}, {"s1", 5}, {"u0", 9}, {"zf0", 1e+300}},
};

inline const std::vector<IntegerCase> kIntegerCases = {
    {"s0 + 1", {8, 3, 13}},
    {"4*s0*s1 - s1 + 3", {84, 17, 238}},
    {"s0**2*s1", {147, 8, 720}},
    {"s0*(s0 - 1)/2", {21, 1, 66}},
    {"-s0 + s1", {-4, 0, -7}},
    {"(s0//2)", {3, 1, 6}},
    {"((1 - s0)//s1)", {-2, -1, -3}},
    {"s0 - ((s0//2))", {4, 1, 6}},
    {"s1*(((s0*s1)//4)) + (((s0 + 3)//4))", {17, 3, 78}},
    {"ModularIndexing(s0, 2, 4)", {3, 1, 2}},
    {"ModularIndexing(s0, 1, 5)", {2, 2, 2}},
    {"PythonMod(u0, 4)", {2, 0, 1}},
    {"PythonMod(-s0, s1 + 1)", {1, 1, 0}},
    {"Mod(s0, 4)", {3, 2, 0}},
    {"s0", {7, 2, 12}},
    {"((s0 + 3)//4)", {2, 1, 3}},
    {"CeilToInt(IntTrueDiv(s0, 4))", {2, 1, 3}},
    {"FloorToInt(IntTrueDiv(s0, 4))", {1, 0, 3}},
    {"TruncToInt(IntTrueDiv(u0, 4))", {-1, 0, 2}},
    {"RoundToInt(IntTrueDiv(s0, 2))", {4, 1, 6}},
    {"s0*(PowByNatural(2, s1))", {56, 8, 384}},
    {"(s0//(PowByNatural(2, s1)))", {0, 0, 0}},
    {"PowByNatural(s1, s0)", {2187, 4, 244140625}},
    {"Max(1, u0)", {1, 1, 9}},
    {"Max(9, s0, 2*s1)", {9, 9, 12}},
    {"Min(s0, s1 + 2)", {5, 2, 7}},
    {"Where(s0 < 8, s0, 8)", {7, 2, 8}},
    {"Where(Eq(s0, s1), 1, s0*s1)", {21, 1, 60}},
    {"Where((s0 > 3) & (s1 > 3), s0, s1)", {3, 2, 12}},
    {"Where((s0 > 3) | (s1 > 3), s0, s1)", {7, 2, 12}},
    {"Where(Eq(s0, s1), s0, s1)", {3, 2, 5}},
    {"(s0 + s1)", {10, 4, 17}},
    {"Piecewise((s0, s0 > 4), (s1, True))", {7, 2, 12}},
};

inline const std::vector<FloatCase> kFloatCases = {
    {"IntTrueDiv(1, s0)", {0.14285714285714285, 0.5, 0.08333333333333333}},
    {"IntTrueDiv(s0 + s1, 7)", {1.4285714285714286, 0.5714285714285714, 2.4285714285714284}},
    {"FloatTrueDiv(ToFloat(s0), 3.0)", {2.3333333333333335, 0.6666666666666666, 4.0}},
    {"FloatPow(ToFloat(s0), 0.5)", {2.6457513110645907, 1.4142135623730951, 3.4641016151377544}},
    {"FloatPow(ToFloat(s0), -0.5)", {0.37796447300922725, 0.7071067811865476, 0.28867513459481287}},
    {"OpaqueUnaryFn_sqrt(ToFloat(s0))",
     {2.6457513110645907, 1.4142135623730951, 3.4641016151377544}},
    {"OpaqueUnaryFn_log(ToFloat(s1))",
     {1.0986122886681098, 0.6931471805599453, 1.6094379124341003}},
    {"OpaqueUnaryFn_exp(ToFloat(s1))", {20.085536923187668, 7.38905609893065, 148.4131591025766}},
    {"2.5*ToFloat(s0)", {17.5, 5.0, 30.0}},
    {"zf0 + 1.0", {3.75, 0.5, 1e+300}},
    {"TruncToFloat(zf0)", {2.0, 0.0, 1e+300}},
    {"zf0*ToFloat(s0)", {19.25, -1.0, 1.2e+301}},
};

}  // namespace fuseproof::testing
