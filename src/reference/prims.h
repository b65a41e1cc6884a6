// C++ forms of the `prims` operators that Inductor's graphs hold. torch registers prims from Python
// alone, so a process without Python finds a schema for none of them; each row here gives the
// schema and either the ATen operator that torch's Python implementation calls with the same
// arguments, or a function that does what the Python implementation does (torch/_prims/__init__.py,
// torch/_inductor/inductor_prims.py).
//
// The random prims follow Inductor's kernels instead, since their Python form draws from the global
// generator: Philox of the seed argument, counted by the element's row-major position.
#pragma once

#include <cstdint>
#include <string_view>

#include <ATen/core/stack.h>

namespace fuseproof {

// Takes its arguments off the stack and leaves its results.
using PrimFunction = void (*)(torch::jit::Stack&);

enum class Randomness : std::uint8_t {
  kNone,
  kSeedArgument,  // a function of the arguments: the same draw each time
  kGenerator,     // drawn from the process's generator
};

struct Prim {
  std::string_view schema;         // "abs(Tensor self) -> Tensor"
  std::string_view aten = {};      // "aten::abs"; empty: `function` computes it
  std::string_view overload = {};  // of the ATen operator
  PrimFunction function = nullptr;
  Randomness randomness = Randomness::kNone;
};

// Null when there is no such prim here.
const Prim* find_prim(std::string_view name);

}  // namespace fuseproof
