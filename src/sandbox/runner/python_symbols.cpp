// Python's names in a kernel object. Inductor's objects hold bindings for Python beside the kernel;
// nobody here calls them, but the loader wants the data symbols that they name, and the functions
// as well where the compiler links with `-z now`. Everything here exists to be found, never to be
// used.
#include <cstdio>
#include <cstdlib>

namespace {

[[noreturn]] void refuse(const char* name) {
  std::fprintf(stderr,
               "fuseproof-runner: the kernel called Python's %s, and there is no Python here\n",
               name);
  std::abort();
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared takes none
#define FUSEPROOF_PYTHON_DATA(name)                                  \
  extern "C" __attribute__((visibility("default"))) char name[1024]; \
  char name[1024] = {};
#define FUSEPROOF_PYTHON_FUNCTION(name) \
  extern "C" __attribute__((visibility("default"))) void name() { refuse(#name); }
// NOLINTEND(bugprone-macro-parentheses)

FUSEPROOF_PYTHON_DATA(_Py_NoneStruct)
FUSEPROOF_PYTHON_DATA(_Py_TrueStruct)
FUSEPROOF_PYTHON_DATA(_Py_FalseStruct)
FUSEPROOF_PYTHON_DATA(PyTuple_Type)
FUSEPROOF_PYTHON_DATA(PyList_Type)
FUSEPROOF_PYTHON_DATA(PyLong_Type)
FUSEPROOF_PYTHON_DATA(PyFloat_Type)
FUSEPROOF_PYTHON_DATA(PyCapsule_Type)
FUSEPROOF_PYTHON_DATA(PyModule_Type)
FUSEPROOF_PYTHON_DATA(PyBaseObject_Type)
FUSEPROOF_PYTHON_DATA(PyExc_Exception)
FUSEPROOF_PYTHON_DATA(PyExc_RuntimeError)
FUSEPROOF_PYTHON_DATA(PyExc_SystemError)
FUSEPROOF_PYTHON_DATA(PyExc_TypeError)
FUSEPROOF_PYTHON_DATA(PyExc_ValueError)
FUSEPROOF_PYTHON_DATA(PyExc_IndexError)
FUSEPROOF_PYTHON_DATA(PyExc_OverflowError)
FUSEPROOF_PYTHON_DATA(PyExc_ZeroDivisionError)
FUSEPROOF_PYTHON_DATA(PyExc_MemoryError)
FUSEPROOF_PYTHON_DATA(PyExc_AssertionError)
FUSEPROOF_PYTHON_DATA(PyExc_NotImplementedError)

FUSEPROOF_PYTHON_FUNCTION(PyErr_SetString)
FUSEPROOF_PYTHON_FUNCTION(PyErr_Occurred)
FUSEPROOF_PYTHON_FUNCTION(PyErr_Format)
FUSEPROOF_PYTHON_FUNCTION(PyErr_Clear)
FUSEPROOF_PYTHON_FUNCTION(PyLong_AsSsize_t)
FUSEPROOF_PYTHON_FUNCTION(PyLong_AsLongLong)
FUSEPROOF_PYTHON_FUNCTION(PyLong_AsVoidPtr)
FUSEPROOF_PYTHON_FUNCTION(PyLong_FromVoidPtr)
FUSEPROOF_PYTHON_FUNCTION(PyLong_FromLongLong)
FUSEPROOF_PYTHON_FUNCTION(PyFloat_AsDouble)
FUSEPROOF_PYTHON_FUNCTION(PyFloat_FromDouble)
FUSEPROOF_PYTHON_FUNCTION(PyModule_Create2)
FUSEPROOF_PYTHON_FUNCTION(PyUnstable_Module_SetGIL)
FUSEPROOF_PYTHON_FUNCTION(_Py_Dealloc)
