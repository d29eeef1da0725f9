#include "argument.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "numpy_array.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "raise.h"
#include "text.h"
#include "torch.h"
#include "view.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

[[noreturn]] void refuse(const std::string& message) { raise({ErrorCode::kContract, message}); }

bool is_numbers(const py::object& value) {
  return PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr()) || PyComplex_Check(value.ptr()) ||
         PyList_Check(value.ptr()) || PyTuple_Check(value.ptr());
}

// The array that Python makes of anything but a torch tensor or a NumPy array.
View view_of_other(const py::object& value, const Wanted& wanted) {
  const py::module_ values = py::module_::import("polystate.runtime.values");
  const bool has_dtype = py::isinstance(value, py::module_::import("numpy").attr("generic"));
  if (has_dtype || !is_numbers(value)) {
    const py::object array = values.attr("shared_array")(value, wanted.written, wanted.where);
    return view_of_array(py::array(array), wanted.where);
  }
  if (wanted.written) {
    refuse(wanted.where + ": the method writes it; pass an array or a tensor, no numbers");
  }
  const std::string dtype(name_of(wanted.dtype));
  View view = view_of_array(py::array(values.attr("exact_array")(value, dtype, wanted.where)),
                            wanted.where);
  view.dtype = wanted.dtype;  // bfloat16 comes as its bits
  return view;
}

View view_of(const py::object& value, const Wanted& wanted, const Torch& torch) {
  if (py::isinstance<py::array>(value)) {
    return view_of_array(py::reinterpret_borrow<py::array>(value), wanted.where);
  }
  if (torch.is_tensor(value)) return torch.view_of(value, wanted.where);
  return view_of_other(value, wanted);
}

// "its inputs are x, i"
std::string known_inputs(const MethodSpec& method) {
  if (method.inputs.empty()) return "it has none";
  std::string names = "its inputs are ";
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    names.append(i == 0 ? "" : ", ").append(method.inputs[i].name);
  }
  return names;
}

std::size_t index_of(const MethodSpec& method, const std::string& name) {
  const auto found = std::find_if(method.inputs.begin(), method.inputs.end(),
                                  [&](const InputSpec& input) { return input.name == name; });
  if (found == method.inputs.end()) {
    refuse("method '" + method.name + "' has no input '" + name + "': " + known_inputs(method));
  }
  return static_cast<std::size_t>(found - method.inputs.begin());
}

// The caller's values in the order of the manifest.
std::vector<py::object> in_order(const MethodSpec& method, const py::tuple& positional,
                                 const py::dict& named) {
  std::vector<py::object> values(method.inputs.size());
  if (positional.size() > values.size()) {
    refuse("method '" + method.name + "' takes " + std::to_string(values.size()) + " inputs, " +
           std::to_string(positional.size()) + " were given: " + known_inputs(method));
  }
  for (std::size_t i = 0; i < positional.size(); ++i) values[i] = positional[i];
  for (const auto& [key, value] : named) {
    const std::size_t index = index_of(method, to_utf8(key));
    py::object& place = values[index];
    if (place) refuse(input_label(method, index) + " was given by position and by name");
    place = py::reinterpret_borrow<py::object>(value);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) refuse(input_label(method, i) + " is missing");
  }
  return values;
}

// Two dense tensors are for the contract's check; of others it sees copies.
void refuse_shared_memory(const MethodSpec& method, const std::vector<Argument>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    for (std::size_t j = 0; j < arguments.size(); ++j) {
      if (i != j && arguments[i].written() && (arguments[i].copied() || arguments[j].copied()) &&
          share_memory(arguments[i].view(), arguments[j].view())) {
        refuse(input_label(method, i) +
               ": the method writes this tensor, which shares memory with " +
               short_input_label(method, j));
      }
    }
  }
}

}  // namespace

Argument::Argument(View view, Tensor tensor, bool written, bool copied)
    : view_(std::move(view)), tensor_(std::move(tensor)), written_(written), copied_(copied) {}

Argument Argument::create(const py::object& value, const Wanted& wanted, const Torch& torch) {
  View view = view_of(value, wanted, torch);
  if (wanted.written && !view.writable) {
    refuse(wanted.where + ": the method writes it, and the array is read-only");
  }
  if (is_dense(view)) {
    Tensor tensor =
        unwrap(wanted.written ? Tensor::borrow(view.dtype, view.shape, view.data)
                              : Tensor::borrow_read_only(view.dtype, view.shape, view.data));
    return {std::move(view), std::move(tensor), wanted.written, false};
  }
  if (wanted.written && may_overlap(view)) {
    refuse(wanted.where + ": the method writes it, and several of its elements share memory");
  }
  Tensor tensor = unwrap(Tensor::empty(view.dtype, view.shape));
  gather(view, tensor.mutable_bytes().data());
  return {std::move(view), std::move(tensor), wanted.written, true};
}

void Argument::finish(const Torch& torch) const {
  if (!written_) return;
  if (copied_) scatter(tensor_.bytes().data(), view_);
  if (torch.is_tensor(view_.owner)) torch.mark_written(view_.owner);
}

std::vector<Argument> bind_arguments(const MethodSpec& method, const py::tuple& positional,
                                     const py::dict& named, const Torch& torch) {
  const std::vector<py::object> values = in_order(method, positional, named);
  std::vector<Argument> arguments;
  arguments.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const InputSpec& input = method.inputs[i];
    const Wanted wanted{.dtype = input.dtype,
                        .written = input.written_from.has_value(),
                        .where = input_label(method, i)};
    arguments.push_back(Argument::create(values[i], wanted, torch));
  }
  refuse_shared_memory(method, arguments);
  return arguments;
}

}  // namespace polystate::python
