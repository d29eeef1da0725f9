#pragma once

#include <pybind11/pybind11.h>

namespace polystate::python {

// Adds ChatTemplate and ChatTemplates to the module.
void bind_chat_template(pybind11::module_& module);

}  // namespace polystate::python
