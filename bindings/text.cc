#include "text.h"

#include <pybind11/pybind11.h>

#include <cstddef>
#include <string>
#include <string_view>

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

std::string_view utf8_of(py::handle text) {
  Py_ssize_t size = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) {
    const py::error_already_set error;
    raise({ErrorCode::kContract, std::string("a text has no form in UTF-8: ") + error.what()});
  }
  return {bytes, static_cast<std::size_t>(size)};
}

py::str from_utf8(const std::string& message) {
  PyObject* text = PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()),
                                        "backslashreplace");
  if (text == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(text);
}

}  // namespace polystate::python
