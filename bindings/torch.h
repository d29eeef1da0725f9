#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "polystate/core/tensor.h"
#include "view.h"

namespace polystate::python {

// PyTorch as the process has imported it, used through its Python attributes: nothing here links or
// imports torch.
class Torch {
 public:
  // False where no thread has finished importing torch.
  static Torch find();
  explicit operator bool() const { return static_cast<bool>(module_); }

  // The rest is for a Torch that is true, except that nothing is a tensor without it.

  [[nodiscard]] bool is_tensor(const pybind11::object& value) const;

  // The memory of a dense tensor on the CPU. ContractError, which begins with `where`, for any
  // other: on another device, sparse, of a subclass, or part of an autograd graph. Of a tensor that
  // is negated or conjugated lazily it is that of a copy, which is read-only.
  [[nodiscard]] View view_of(const pybind11::object& given, const std::string& where) const;

  // A torch.Tensor over the tensor's memory, which it keeps alive.
  [[nodiscard]] pybind11::object give(const Tensor& tensor) const;

  // Tells autograd that the tensor was written, so that backward() refuses what it saved before.
  void mark_written(const pybind11::object& tensor) const;

 private:
  Torch() = default;

  // Why a tensor's memory cannot be read as it is; empty where it can.
  [[nodiscard]] std::string obstacle(const pybind11::object& tensor) const;

  pybind11::object module_;
  pybind11::object tensor_type_;
};

}  // namespace polystate::python
