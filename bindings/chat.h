#pragma once

#include <pybind11/pybind11.h>

namespace polystate::python {

// Adds Chat to the module, after Pipeline.
void bind_chat(const pybind11::module_& module);

}  // namespace polystate::python
