#include "results.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <span>
#include <utility>

#include "numpy_array.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "raise.h"
#include "torch.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

py::object numpy_bfloat16() {
  try {
    return py::module_::import("ml_dtypes").attr("bfloat16");
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_ImportError)) throw;
  }
  raise({ErrorCode::kUnsupported,
         "NumPy has no bfloat16: import torch before the call, or install ml_dtypes"});
}

}  // namespace

Results::Results(std::span<const DType> dtypes, Torch torch) : torch_(std::move(torch)) {
  if (!torch_ && std::find(dtypes.begin(), dtypes.end(), DType::kBFloat16) != dtypes.end()) {
    bfloat16_ = numpy_bfloat16();
  }
}

py::object Results::give(const Tensor& tensor) const {
  if (torch_) return torch_.give(tensor);
  py::array array = to_array(tensor);
  if (tensor.dtype() != DType::kBFloat16) return array;
  return array.attr("view")(bfloat16_);
}

}  // namespace polystate::python
