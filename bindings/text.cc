#include "text.h"

#include <pybind11/pybind11.h>

#include <cstddef>
#include <string>

#include "polystate/core/result.h"
#include "raise.h"

namespace polystate::python {

namespace py = pybind11;

std::string to_utf8(py::handle name) {
  if (!PyUnicode_Check(name.ptr())) {
    raise({ErrorCode::kContract, "a name is a str, not " + py::repr(name).cast<std::string>()});
  }
  Py_ssize_t size = 0;
  if (const char* bytes = PyUnicode_AsUTF8AndSize(name.ptr(), &size); bytes != nullptr) {
    return {bytes, static_cast<std::size_t>(size)};
  }
  PyErr_Clear();
  return name.attr("encode")("utf-8", "backslashreplace").cast<std::string>();
}

py::str from_utf8(const std::string& message) {
  PyObject* text = PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()),
                                        "backslashreplace");
  if (text == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(text);
}

}  // namespace polystate::python
