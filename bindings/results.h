#pragma once

#include <pybind11/pybind11.h>

#include <span>

#include "polystate/core/dtype.h"
#include "polystate/core/tensor.h"
#include "torch.h"

namespace polystate::python {

// Gives tensors to Python without a copy: as torch tensors in a process that has imported torch,
// else as NumPy arrays.
class Results {
 public:
  // Made before a call, so that nothing runs whose results could not be given: UnsupportedError for
  // bfloat16 where neither torch nor ml_dtypes is there.
  Results(std::span<const DType> dtypes, Torch torch);

  [[nodiscard]] pybind11::object give(const Tensor& tensor) const;

 private:
  Torch torch_;
  pybind11::object bfloat16_;  // NumPy's type of that name where it is needed, else null
};

}  // namespace polystate::python
