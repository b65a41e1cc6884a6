// The parts of fuseproof._core, one function for each file that defines one.
//
// The module is thin: Python reads torch's objects and hands down JSON text and addresses; nothing
// here knows torch. Everything that is slow (hashing, writing, slicing) runs without the GIL.
#pragma once

#include <nanobind/nanobind.h>

namespace fuseproof::python {

// Error and its subclasses; from here on every fuseproof::Error arrives in Python as one of them.
void bind_errors(nanobind::module_& module);

// RunWriter, LoweredGraph, mxcsr().
void bind_capture(nanobind::module_& module);

// check_run(), finding_verdicts(), cpu_description().
void bind_check(nanobind::module_& module);

// GraphReference.
void bind_reference(nanobind::module_& module);

// What benchmark.py scripts compare with.
void bind_scripts(nanobind::module_& module);

// NodeChannel, of the Python worker.
void bind_node_channel(nanobind::module_& module);

}  // namespace fuseproof::python
