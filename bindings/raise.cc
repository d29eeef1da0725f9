#include "raise.h"

#include <pybind11/pybind11.h>

#include "polystate/core/result.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

const char* exception_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kContract:
      return "ContractError";
    case ErrorCode::kArtifact:
      return "ArtifactError";
    case ErrorCode::kUnsupported:
      return "UnsupportedError";
    case ErrorCode::kEngine:
      return "EngineError";
    case ErrorCode::kBusy:
      return "BusyError";
    case ErrorCode::kIo:
      return "IoError";
  }
  return "Error";
}

}  // namespace

void raise(const Error& error) {
  const py::object type = py::module_::import("polystate.errors").attr(exception_name(error.code));
  // A message may quote a path or a name that is not UTF-8.
  const py::object message = py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
      error.message.data(), static_cast<Py_ssize_t>(error.message.size()), "backslashreplace"));
  if (message) PyErr_SetObject(type.ptr(), message.ptr());
  throw py::error_already_set();
}

}  // namespace polystate::python
