#pragma once

#include <pybind11/pybind11.h>

namespace polystate::python {

// What `work` returns; other threads run Python meanwhile, so `work` must not touch any object.
template <typename Work>
auto without_gil(Work work) {
  const pybind11::gil_scoped_release released;
  return work();
}

}  // namespace polystate::python
