#include "reference/call_inputs.h"

#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "reference/machine_state.h"

namespace fuseproof {
namespace {

Arena map_privately(const Arena& arena) {
  const int fd = ::dup(arena.fd());
  if (fd < 0) throw Error(ErrorKind::kIo, "cannot duplicate the descriptor of an arena");
  return Arena::attach(fd, arena.description(), Arena::Sharing::kPrivate);
}

}  // namespace

CallInputs::CallInputs(const Fragment& fragment, const CallRecord& call, const Arena& arena)
    : fragment_(fragment), call_(call), arena_(map_privately(arena)) {
  if (call.storages.size() != arena_.storage_count()) {
    throw Error(ErrorKind::kInternal, fmt::format("a call of {} storages comes with an arena of {}",
                                                  call.storages.size(), arena_.storage_count()));
  }
  for (std::size_t i = 0; i < arena_.storage_count(); ++i) {
    storages_.push_back(borrow_storage(arena_.storage(i)));
  }
}

void CallInputs::bind(const Program& program, Environment& native) {
  if (call_.generator) set_generator(arena_.storage(static_cast<std::size_t>(*call_.generator)));
  for (std::size_t i = 0; i < fragment_.inputs.size(); ++i) {
    native[program.inputs[i]] = native_value(fragment_.inputs[i]);
  }
}

void CallInputs::bind_widened(const Program& program, Environment& wide, Widening widening) {
  for (std::size_t i = 0; i < fragment_.inputs.size(); ++i) {
    wide[program.inputs[i]] = wide_value(fragment_.inputs[i], widening);
  }
}

const CallArgument& CallInputs::argument_of(const FragmentInput& input) const {
  if (input.argument >= 0 && input.argument < std::ssize(call_.arguments)) {
    return call_.arguments[input.argument];
  }
  throw Error(ErrorKind::kBadInput,
              fmt::format("the fragment's input `{}` is bound to argument {} of a call that has {}",
                          input.node, input.argument, call_.arguments.size()));
}

std::size_t CallInputs::storage_of(const FragmentInput& input, const CallArgument& argument) const {
  if (argument.storage >= 0 && argument.storage < std::ssize(storages_)) return argument.storage;
  throw Error(ErrorKind::kBadInput,
              fmt::format("the fragment's input `{}` is bound to an argument without a storage",
                          input.node));
}

c10::IValue CallInputs::native_value(const FragmentInput& input) {
  const CallArgument& argument = argument_of(input);
  if (argument.kind == CallArgument::Kind::kInteger) return argument.integer;
  if (argument.kind == CallArgument::Kind::kFloat) return argument.number;
  const std::string what = fmt::format("the fragment's input `{}`", input.node);
  return view_storage(storages_[storage_of(input, argument)],
                      layout_in_storage(call_, input.argument, input.layout, what), what);
}

c10::IValue CallInputs::wide_value(const FragmentInput& input, Widening widening) {
  c10::IValue native = native_value(input);
  if (!native.isTensor() || !is_inexact(native.toTensor().scalar_type())) return native;
  const at::Tensor& tensor = native.toTensor();
  const at::Tensor& base =
      wide_base(storage_of(input, argument_of(input)), dtype_of(tensor), widening);
  return base.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

// A whole storage widened, once for each dtype in which it is seen.
const at::Tensor& CallInputs::wide_base(std::size_t storage, DType dtype, Widening widening) {
  const auto [entry, is_new] = wide_bases_.try_emplace({storage, dtype});
  if (is_new) {
    const auto count = static_cast<std::int64_t>(storages_[storage].nbytes() /
                                                 static_cast<std::size_t>(dtype_size_bytes(dtype)));
    const at::Tensor whole = view_storage(
        storages_[storage], {.dtype = dtype, .shape = {count}, .strides = {1}}, "a storage");
    // A copy even where the dtype is wide already: the native run may write to the storage.
    entry->second = whole.to(widened(whole.scalar_type(), widening), /*non_blocking=*/false,
                             /*copy=*/true);
  }
  return entry->second;
}

}  // namespace fuseproof
