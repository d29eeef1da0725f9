#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>

// Names and messages between Python and C++, where either side may hold what UTF-8 does not.
namespace polystate::python {

// A name in UTF-8, lone surrogates as "\udcff"; ContractError for anything but a str.
std::string to_utf8(pybind11::handle name);

// A str in UTF-8 where Python has it, as long as the str lives; ContractError where it has no such
// form.
std::string_view utf8_of(pybind11::handle text);

// A message as a str, bytes that are no UTF-8 as "\xff".
pybind11::str from_utf8(const std::string& message);

}  // namespace polystate::python
