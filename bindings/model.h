#pragma once

#include <pybind11/pybind11.h>

namespace polystate::python {

// Adds the class Model, and load, to the module.
void bind_model(pybind11::module_& module);

}  // namespace polystate::python
