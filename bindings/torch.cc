#include "torch.h"

#include <pybind11/numpy.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "numpy_array.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "raise.h"
#include "view.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

std::string text(const py::object& value) { return py::str(value).cast<std::string>(); }

std::byte* memory_of(const py::object& tensor, const std::string& where) {
  try {
    const auto address = tensor.attr("data_ptr")().cast<std::uintptr_t>();
    return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
  } catch (const py::error_already_set& error) {   // inside a transform such as torch.vmap
    raise({ErrorCode::kContract, where + ": a tensor without memory: " + text(error.value())});
  }
}

std::vector<std::int64_t> integers(const py::tuple& tuple) {
  std::vector<std::int64_t> values;
  values.reserve(tuple.size());
  for (const py::handle value : tuple) values.push_back(value.cast<std::int64_t>());
  return values;
}

// ContractError when a tensor's storage, which may be resized under it, ends before its elements.
void require_storage(const py::object& tensor, const View& view, const std::string& where) {
  std::int64_t needed = static_cast<std::int64_t>(size_of(view.dtype)) +
                        tensor.attr("storage_offset")().cast<std::int64_t>() *
                            static_cast<std::int64_t>(size_of(view.dtype));
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 0) return;
    needed += (view.shape[i] - 1) * view.strides[i];
  }
  const auto found = tensor.attr("untyped_storage")().attr("nbytes")().cast<std::int64_t>();
  if (found < needed) {
    raise({ErrorCode::kContract, where + ": a tensor that needs " + std::to_string(needed) +
                                     " bytes of storage, which was resized to " +
                                     std::to_string(found)});
  }
}

}  // namespace

Torch Torch::find() {
  Torch torch;
  auto module = py::reinterpret_steal<py::object>(PyImport_GetModule(py::str("torch").ptr()));
  if (!module) {
    PyErr_Clear();
    return torch;
  }
  // Another thread may still import it; and None in sys.modules forbids to.
  const py::object spec = py::getattr(module, "__spec__", py::none());
  const py::object busy = py::getattr(spec, "_initializing", py::none());
  if (spec.is_none() || py::cast<bool>(py::bool_(busy))) return torch;
  torch.tensor_type_ = module.attr("Tensor");
  torch.module_ = std::move(module);
  return torch;
}

bool Torch::is_tensor(const py::object& value) const {
  return module_ && py::isinstance(value, tensor_type_);
}

std::string Torch::obstacle(const py::object& tensor) const {
  const py::handle type = py::type::handle_of(tensor);
  if (!type.is(tensor_type_) && !type.is(module_.attr("nn").attr("Parameter"))) {
    return "a tensor of the subclass '" + text(type.attr("__name__")) +
           "'; a plain torch.Tensor is needed";
  }
  if (!tensor.attr("is_cpu").cast<bool>()) {
    return "a tensor on the device '" + text(tensor.attr("device")) + "'; pass .cpu()";
  }
  if (!tensor.attr("layout").is(module_.attr("strided"))) {
    return "a tensor of the layout " + text(tensor.attr("layout")) + "; pass .to_dense()";
  }
  if (tensor.attr("requires_grad").cast<bool>()) {
    return "a tensor that requires grad; pass .detach()";
  }
  if (tensor.attr("is_nested").cast<bool>()) return "a nested tensor; pass .to_padded_tensor(0)";
  return "";
}

View Torch::view_of(const py::object& given, const std::string& where) const {
  if (const std::string reason = obstacle(given); !reason.empty()) {
    raise({ErrorCode::kContract, where + ": " + reason});
  }
  const bool is_lazy = given.attr("is_neg")().cast<bool>() || given.attr("is_conj")().cast<bool>();
  const py::object tensor = is_lazy ? given.attr("resolve_conj")().attr("resolve_neg")() : given;
  const std::string dtype = text(tensor.attr("dtype"));  // "torch.float32"
  const std::optional<DType> element = dtype_named(dtype.substr(dtype.find('.') + 1));
  if (!element) raise({ErrorCode::kContract, where + ": a tensor of " + dtype + " is no input"});
  View view{.dtype = *element,
            .shape = integers(tensor.attr("shape")),
            .strides = integers(tensor.attr("stride")()),
            .data = memory_of(tensor, where),
            .writable = !is_lazy,  // what is written to a copy is lost
            .owner = tensor};
  for (std::int64_t& stride : view.strides) stride *= static_cast<std::int64_t>(size_of(*element));
  require_storage(tensor, view, where);
  return view;
}

py::object Torch::give(const Tensor& tensor) const {
  py::object value = module_.attr("from_numpy")(to_array(tensor));
  if (tensor.dtype() != DType::kBFloat16) return value;
  return value.attr("view")(module_.attr("bfloat16"));
}

void Torch::mark_written(const py::object& tensor) const {
  if (tensor.attr("is_inference")().cast<bool>()) return;  // autograd never sees it
  module_.attr("autograd").attr("graph").attr("increment_version")(tensor);
}

}  // namespace polystate::python
