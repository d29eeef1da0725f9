#include "token_model.h"

#include <pybind11/pybind11.h>

#include <string>

#include "polystate/runner/token_model_form.h"

namespace py = pybind11;

namespace polystate::python {
namespace {

std::string name_of(Presence presence) {
  switch (presence) {
    case Presence::kAlways:
      return "always";
    case Presence::kWithSources:
      return "with sources";
    case Presence::kWithWindowTable:
      return "with window_table";
    case Presence::kOptional:
      break;
  }
  return "optional";
}

// By name: the presence of each constant, and of each input of each method.
py::dict token_model_form() {
  py::dict constants;
  for (const ConstantForm& constant : token_model_constants()) {
    constants[py::str(std::string(constant.name))] = name_of(constant.presence);
  }
  py::dict methods;
  for (const MethodForm& method : token_model_methods()) {
    py::dict inputs;
    for (const InputForm& input : method.inputs) {
      inputs[py::str(std::string(input.name))] = name_of(input.presence);
    }
    methods[py::str(std::string(method.name))] = inputs;
  }
  py::dict form;
  form["constants"] = constants;
  form["methods"] = methods;
  return form;
}

}  // namespace

void bind_token_model(py::module_& module) { module.def("token_model_form", &token_model_form); }

}  // namespace polystate::python
