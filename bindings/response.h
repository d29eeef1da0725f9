#pragma once

#include <pybind11/pybind11.h>

namespace polystate::python {

// Adds what reads answers as messages to the module.
void bind_response(pybind11::module_& module);

}  // namespace polystate::python
