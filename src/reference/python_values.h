// Values of the dispatcher's stack as the plain data of python/python_worker.h, and back.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include "base/json.h"
#include "tensor/arena.h"

namespace fuseproof {

// Writes the arguments of one call and collects the storages that their tensors lie in: whole, each
// once, so that aliasing arguments alias over there.
class PythonArguments {
 public:
  // `type` is the schema's: dtypes and layouts are integers on the stack. Throws kUnsupported for
  // a value that plain data cannot hold.
  Json write(const c10::IValue& value, const c10::TypePtr& type);

  Arena to_arena() const;
  // Takes over what the operator wrote into a tensor's storage, or into those of a list's tensors.
  void take_writes(const c10::IValue& argument, const Arena& arena);

  const c10::Storage& storage(std::size_t index) const { return storages_.at(index); }

 private:
  Json write_tensor(const at::Tensor& tensor);
  std::size_t index_of(const c10::Storage& storage);

  std::vector<c10::Storage> storages_;
};

// A result. Its tensors keep the arena alive, or are views into the arguments' storages. Throws
// kBadInput for a reply that is malformed or does not fit the type.
c10::IValue python_result(const Json& value, const c10::TypePtr& type,
                          const PythonArguments& arguments, const std::shared_ptr<Arena>& arena);

}  // namespace fuseproof
