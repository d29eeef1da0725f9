#include "polystate/engine/operators.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "operators.h"

namespace polystate::python {

void bind_operators(pybind11::module_& module) {
  module.def("executorch_operators", &executorch_operators);
}

}  // namespace polystate::python
