#include <nanobind/stl/string.h>

#include "base/version.h"
#include "bindings.h"

NB_MODULE(_core, module) {
  // A capture that is never stopped is still alive when the interpreter ends.
  nanobind::set_leak_warnings(false);
  module.doc() = "Fuseproof's C++ core.";
  module.attr("__version__") = std::string(fuseproof::version());
  fuseproof::python::bind_errors(module);
  fuseproof::python::bind_capture(module);
  fuseproof::python::bind_check(module);
  fuseproof::python::bind_reference(module);
  fuseproof::python::bind_node_channel(module);
  fuseproof::python::bind_scripts(module);
}
