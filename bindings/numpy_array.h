#pragma once

#include <pybind11/numpy.h>

#include <string>

#include "polystate/core/tensor.h"
#include "view.h"

namespace polystate::python {

// The memory of a NumPy array. ContractError, which begins with `where`, for a dtype that no tensor
// has, a foreign byte order and a masked array.
View view_of_array(const pybind11::array& array, const std::string& where);

// A NumPy array over the tensor's memory, which it keeps alive; bfloat16 as its bits in int16.
pybind11::array to_array(const Tensor& tensor);

}  // namespace polystate::python
