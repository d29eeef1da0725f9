#pragma once

#include <pybind11/pybind11.h>

namespace polystate::python {

void bind_generation(pybind11::module_& module);

}  // namespace polystate::python
