#include "raise.h"

#include <pybind11/pybind11.h>

#include "polystate/core/result.h"
#include "text.h"

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
  PyErr_SetObject(type.ptr(), from_utf8(error.message).ptr());
  throw py::error_already_set();
}

}  // namespace polystate::python
