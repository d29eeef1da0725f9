#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <vector>

#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/tensor.h"
#include "torch.h"
#include "view.h"

namespace polystate::python {

// What a Python value is wanted for.
struct Wanted {
  DType dtype;        // of numbers and lists, which have none of their own
  bool written;       // the call writes the caller's memory
  std::string where;  // "method 'step', input 1 'position'", for messages
};

// A Python value as a tensor: the caller's memory itself where it is dense, else a copy. Keeps the
// value alive.
class Argument {
 public:
  // ContractError when the value is no tensor, array, buffer, number or list of numbers; when a
  // number does not fit the dtype exactly; when memory that is to be written is read-only, has two
  // elements in one place, or is not the caller's.
  static Argument create(const pybind11::object& value, const Wanted& wanted, const Torch& torch);

  [[nodiscard]] const Tensor& tensor() const { return tensor_; }
  // The caller's memory, and whether the call writes it; whether `tensor` is a copy of it.
  [[nodiscard]] const View& view() const { return view_; }
  [[nodiscard]] bool written() const { return written_; }
  [[nodiscard]] bool copied() const { return copied_; }

  // Brings what the call wrote back to the caller, after the call.
  void finish(const Torch& torch) const;

 private:
  Argument(View view, Tensor tensor, bool written, bool copied);

  View view_;
  Tensor tensor_;
  bool written_;
  bool copied_;
};

// The inputs of a call in the manifest's order, from positions and names. ContractError for inputs
// that are missing, unknown, given twice or too many.
std::vector<Argument> bind_arguments(const MethodSpec& method, const pybind11::tuple& positional,
                                     const pybind11::dict& named, const Torch& torch);

}  // namespace polystate::python
