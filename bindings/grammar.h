#pragma once

#include <pybind11/pybind11.h>

namespace polystate::python {

// Adds Grammar and GrammarState to the module.
void bind_grammar(const pybind11::module_& module);

}  // namespace polystate::python
