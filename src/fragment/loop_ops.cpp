#include "fragment/loop_ops.h"

#include <algorithm>

namespace fuseproof {
namespace {

using enum LoopOpForm;
using enum LoopOpDomain;

constexpr LoopOp kLoopOps[] = {
    {"abs", "aten.abs.default", kUnary, kNumber},
    {"acos", "aten.acos.default"},
    {"acosh", "aten.acosh.default"},
    {"asin", "aten.asin.default"},
    {"asinh", "aten.asinh.default"},
    {"atan", "aten.atan.default"},
    {"atanh", "aten.atanh.default"},
    {"ceil", "aten.ceil.default"},
    {"cos", "aten.cos.default"},
    {"cosh", "aten.cosh.default"},
    {"erf", "aten.erf.default"},
    {"erfc", "aten.erfc.default"},
    {"exp", "aten.exp.default"},
    {"exp2", "aten.exp2.default"},
    {"expm1", "aten.expm1.default"},
    {"floor", "aten.floor.default"},
    {"lgamma", "aten.lgamma.default"},
    {"log", "aten.log.default"},
    {"log10", "aten.log10.default"},
    {"log1p", "aten.log1p.default"},
    {"log2", "aten.log2.default"},
    {"neg", "aten.neg.default", kUnary, kNumber},
    {"reciprocal", "aten.reciprocal.default"},
    {"relu", "aten.relu.default", kUnary, kNumber},
    {"round", "aten.round.default"},
    {"rsqrt", "aten.rsqrt.default"},
    {"sigmoid", "aten.sigmoid.default"},
    {"sign", "aten.sign.default"},
    {"sin", "aten.sin.default"},
    {"sinh", "aten.sinh.default"},
    {"sqrt", "aten.sqrt.default"},
    {"tan", "aten.tan.default"},
    {"tanh", "aten.tanh.default"},
    {"trunc", "aten.trunc.default"},
    {"isinf", "aten.isinf.default", kUnary, kFloat, true},
    {"isnan", "aten.isnan.default", kUnary, kFloat, true},
    {"logical_not", "aten.logical_not.default", kUnary, kAny, true},
    {"bitwise_not", "aten.bitwise_not.default", kUnary, kBitwise},
    {"square", "aten.mul.Tensor", kSquare, kNumber},
    {"add", "aten.add.Tensor", kBinary, kNumber},
    {"sub", "aten.sub.Tensor", kBinary, kNumber},
    {"mul", "aten.mul.Tensor", kBinary, kNumber},
    {"truediv", "aten.div.Tensor", kBinary},
    {"maximum", "aten.maximum.default", kBinary, kNumber},
    {"minimum", "aten.minimum.default", kBinary, kNumber},
    {"pow", "aten.pow.Tensor_Tensor", kBinary},
    {"atan2", "aten.atan2.default", kBinary},
    {"hypot", "aten.hypot.default", kBinary},
    {"copysign", "aten.copysign.Tensor", kBinary},
    {"fmod", "aten.fmod.Tensor", kBinary},
    {"remainder", "aten.remainder.Tensor", kBinary},
    {"eq", "aten.eq.Tensor", kBinary, kAny, true},
    {"ne", "aten.ne.Tensor", kBinary, kAny, true},
    {"lt", "aten.lt.Tensor", kBinary, kNumber, true},
    {"le", "aten.le.Tensor", kBinary, kNumber, true},
    {"gt", "aten.gt.Tensor", kBinary, kNumber, true},
    {"ge", "aten.ge.Tensor", kBinary, kNumber, true},
    {"logical_and", "aten.logical_and.default", kBinary, kAny, true},
    {"logical_or", "aten.logical_or.default", kBinary, kAny, true},
    {"logical_xor", "aten.logical_xor.default", kBinary, kAny, true},
    {"bitwise_and", "aten.bitwise_and.Tensor", kBinary, kBitwise},
    {"bitwise_or", "aten.bitwise_or.Tensor", kBinary, kBitwise},
    {"bitwise_xor", "aten.bitwise_xor.Tensor", kBinary, kBitwise},
    {"where", "aten.where.self", kSelect, kAny},
};

}  // namespace

const LoopOp* find_loop_op(std::string_view name) {
  for (const LoopOp& op : kLoopOps) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

bool is_loop_op_target(std::string_view target) {
  return std::ranges::any_of(kLoopOps, [&](const LoopOp& op) { return op.target == target; });
}

bool admits(LoopOpDomain domain, DType dtype) {
  const DTypeClass dtype_kind = dtype_class(dtype);
  switch (domain) {
    case kFloat: return dtype_kind == DTypeClass::kFloat;
    case kNumber: return dtype_kind == DTypeClass::kFloat || dtype_kind == DTypeClass::kInteger;
    case kBitwise: return dtype_kind == DTypeClass::kBool || dtype_kind == DTypeClass::kInteger;
    case kAny: return dtype_kind != DTypeClass::kComplex;
  }
  return false;
}

}  // namespace fuseproof
