#pragma once

#include <pybind11/pybind11.h>

namespace polystate::python {

// Has a signal that ends the process write the functions that it ended, innermost first, to stderr:
// for a process that runs a program for another one, which tells what happened.
void bind_crash(pybind11::module_& module);

}  // namespace polystate::python
