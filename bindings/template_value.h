#pragma once

#include <pybind11/pybind11.h>

#include "polystate/chat_template/template_value.h"

namespace polystate::python {

// A Python value as a template sees it: None, numbers, texts, lists, tuples and dictionaries of
// these. ContractError for others, for integers of more than 64 bits, for texts that have no form
// in UTF-8, and for values that are too deep in one another.
TemplateValue to_template_value(pybind11::handle value);

}  // namespace polystate::python
