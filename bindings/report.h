#pragma once

#include <pybind11/pybind11.h>

namespace polystate::python {

// Adds what makes pages of reports to the module.
void bind_report(pybind11::module_& module);

}  // namespace polystate::python
