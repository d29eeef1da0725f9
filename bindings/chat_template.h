#pragma once

#include <pybind11/pybind11.h>

#include "polystate/chat_template/chat_templates.h"

namespace polystate::python {

// A conversation and what its template is given: `inputs` by the names of ChatInput.
ChatInput to_chat_input(const pybind11::dict& inputs, const pybind11::dict& variables);

// Adds ChatTemplate and ChatTemplates to the module.
void bind_chat_template(pybind11::module_& module);

}  // namespace polystate::python
