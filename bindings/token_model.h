#pragma once

#include <pybind11/pybind11.h>

namespace polystate::python {

// Adds token_model_form to the module.
void bind_token_model(pybind11::module_& module);

}  // namespace polystate::python
