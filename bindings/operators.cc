#include "operators.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"
#include "polystate/engine/operators.h"
#include "raise.h"
#include "torch.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

// Python's arguments as an operator's. Tensors are those of the caller, in whose memory results
// are.
class Arguments {
 public:
  Arguments(const py::list& values, std::size_t results) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values_.push_back(argument_of(values[i], i + results >= values.size()));
    }
  }

  [[nodiscard]] const std::vector<OperatorArgument>& values() const { return values_; }

 private:
  OperatorArgument argument_of(const py::object& value, bool is_result) {
    if (value.is_none()) return std::monostate();
    if (py::isinstance<py::bool_>(value)) return value.cast<bool>();
    if (py::isinstance<py::int_>(value)) return value.cast<std::int64_t>();
    if (py::isinstance<py::float_>(value)) return value.cast<double>();
    if (py::isinstance<py::str>(value)) return value.cast<std::string>();
    if (py::isinstance<py::tuple>(value)) return numbers_or_tensors(value);
    if (py::isinstance<py::list>(value)) {
      std::vector<std::optional<Tensor>> tensors;
      for (const py::handle each : value) {
        tensors.push_back(each.is_none() ? std::nullopt
                                         : std::optional(tensor(each, /*written=*/false)));
      }
      return tensors;
    }
    return tensor(value, is_result);
  }

  OperatorArgument numbers_or_tensors(const py::tuple& values) {
    if (values.empty() || py::isinstance<py::int_>(values[0])) {
      return values.cast<std::vector<std::int64_t>>();
    }
    if (py::isinstance<py::float_>(values[0])) return values.cast<std::vector<double>>();
    std::vector<Tensor> tensors;
    for (const py::handle each : values) tensors.push_back(tensor(each, /*written=*/false));
    return tensors;
  }

  Tensor tensor(const py::handle& value, bool written) {
    const Wanted wanted{DType::kFloat32, written, "an argument"};
    return kept_
        .emplace_back(Argument::create(py::reinterpret_borrow<py::object>(value), wanted, torch_))
        .tensor();
  }

  Torch torch_ = Torch::find();
  std::deque<Argument> kept_;
  std::vector<OperatorArgument> values_;
};

std::vector<Shape> call(const std::string& name, const py::list& values, std::size_t results) {
  const Arguments arguments(values, results);
  return unwrap(call_operator(name, arguments.values(), results));
}

}  // namespace

void bind_operators(py::module_& module) {
  module.def("executorch_operators", &executorch_operators);
  module.def("call_operator", &call);
}

}  // namespace polystate::python
