#pragma once

#include <pybind11/pybind11.h>

namespace polystate::python {

// Adds Tokenizer to the module.
void bind_tokenizer(pybind11::module_& module);

}  // namespace polystate::python
