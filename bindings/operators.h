#pragma once

#include <pybind11/pybind11.h>

namespace polystate::python {

// Adds executorch_operators and call_operator to the module.
void bind_operators(pybind11::module_& module);

}  // namespace polystate::python
