#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "polystate/core/tensor.h"
#include "view.h"

// PyTorch's tensors, through their Python attributes: nothing here links or imports torch.
namespace polystate::python {

// The module torch where the process has imported it, else null.
pybind11::object imported_torch();

// The memory of a dense tensor on the CPU. ContractError, which begins with `where`, for any other:
// on another device, sparse, of a subclass, a lazy negation, or part of an autograd graph.
View view_of_tensor(const pybind11::object& tensor, const pybind11::object& torch,
                    const std::string& where);

// A torch.Tensor over the tensor's memory, which it keeps alive.
pybind11::object to_torch(const Tensor& tensor, const pybind11::object& torch);

// Tells autograd that `tensor` was written, so that backward() refuses what it had saved before.
void mark_written(const pybind11::object& tensor, const pybind11::object& torch);

}  // namespace polystate::python
