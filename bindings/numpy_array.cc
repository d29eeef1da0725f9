#include "numpy_array.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "raise.h"
#include "view.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

// The element type of a NumPy dtype; none for one that no tensor has.
std::optional<DType> to_dtype(const py::dtype& dtype) {
  const auto size = dtype.itemsize();
  switch (dtype.kind()) {
    case 'b':
      return DType::kBool;
    case 'u':
      return size == 1 ? std::optional(DType::kUInt8) : std::nullopt;
    case 'i':
      return dtype_named("int" + std::to_string(8 * size));
    case 'f':
      return dtype_named("float" + std::to_string(8 * size));
    default:  // ml_dtypes registers bfloat16 as a type of its own
      return dtype_named(py::str(dtype.attr("name")).cast<std::string>());
  }
}

py::dtype from_dtype(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return py::dtype::of<bool>();
    case DType::kUInt8:
      return py::dtype::of<std::uint8_t>();
    case DType::kInt8:
      return py::dtype::of<std::int8_t>();
    case DType::kInt16:
    case DType::kBFloat16:
      return py::dtype::of<std::int16_t>();
    case DType::kInt32:
      return py::dtype::of<std::int32_t>();
    case DType::kInt64:
      return py::dtype::of<std::int64_t>();
    case DType::kFloat16:
      return py::dtype("float16");
    case DType::kFloat32:
      return py::dtype::of<float>();
    case DType::kFloat64:
      return py::dtype::of<double>();
    case DType::kComplex64:
      return py::dtype("complex64");
    case DType::kComplex128:
      return py::dtype("complex128");
  }
  return py::dtype();
}

bool is_masked(const py::array& array) {
  const auto module =
      py::reinterpret_steal<py::object>(PyImport_GetModule(py::str("numpy.ma").ptr()));
  return module && py::isinstance(array, module.attr("MaskedArray"));
}

}  // namespace

View view_of_array(const py::array& array, const std::string& where) {
  const py::dtype dtype = array.dtype();
  const std::optional<DType> element = to_dtype(dtype);
  if (!element || dtype.byteorder() == '>') {
    raise({ErrorCode::kContract, where + ": a NumPy array of dtype '" +
                                     py::str(dtype.attr("str")).cast<std::string>() +
                                     "' is no tensor"});
  }
  if (is_masked(array)) {
    raise({ErrorCode::kContract, where + ": a masked array's mask would be lost; pass .filled()"});
  }
  return {.dtype = *element,
          .shape = {array.shape(), array.shape() + array.ndim()},
          .strides = {array.strides(), array.strides() + array.ndim()},
          .data = static_cast<std::byte*>(const_cast<void*>(array.data())),
          .writable = array.writeable(),
          .owner = array};
}

py::array to_array(const Tensor& tensor) {
  auto owned = std::make_unique<Tensor>(tensor);
  const py::capsule owner(owned.get(), [](void* held) {
    const std::unique_ptr<Tensor> released(static_cast<Tensor*>(held));
  });
  const Tensor* held = owned.release();
  return {from_dtype(tensor.dtype()), tensor.shape(), held->bytes().data(), owner};
}

}  // namespace polystate::python
