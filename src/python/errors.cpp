#include <array>
#include <string>

#include "base/error.h"
#include "bindings.h"

namespace fuseproof::python {
namespace {

namespace nb = nanobind;

constexpr std::array kKinds = {ErrorKind::kUsage, ErrorKind::kBadInput, ErrorKind::kUnsupported,
                               ErrorKind::kIo, ErrorKind::kInternal};

// The Python class of each kind. Lives as long as the interpreter, like the module's translator.
struct ExceptionClasses {
  std::array<PyObject*, kKinds.size()> classes = {};

  PyObject* of(ErrorKind kind) const {
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
      if (kKinds[i] == kind) return classes[i];
    }
    return PyExc_RuntimeError;
  }
};

PyObject* new_class(nb::module_& module, const std::string& name, PyObject* base) {
  PyObject* created = PyErr_NewException(("fuseproof." + name).c_str(), base, nullptr);
  if (created == nullptr) throw nb::python_error();
  module.attr(name.c_str()) = nb::handle(created);
  return created;
}

void translate(const std::exception_ptr& pointer, void* payload) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    PyErr_SetString(static_cast<ExceptionClasses*>(payload)->of(error.kind()), error.what());
  }
}

}  // namespace

void bind_errors(nb::module_& module) {
  auto* classes = new ExceptionClasses;  // owned by the translator, which is never removed
  PyObject* base = new_class(module, "Error", PyExc_Exception);
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    const std::string name(error_kind_info(kKinds[i]).python_exception);
    classes->classes[i] = new_class(module, name, base);
    nb::handle(classes->classes[i]).attr("exit_status") = error_kind_info(kKinds[i]).exit_status;
  }
  nb::register_exception_translator(translate, classes);
}

}  // namespace fuseproof::python
