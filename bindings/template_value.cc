#include "template_value.h"

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "raise.h"
#include "text.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

TemplateValue converted(py::handle value, std::size_t depth);

TemplateValue converted_integer(py::handle value) {
  int overflow = 0;
  const std::int64_t integer = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow != 0) {
    raise({ErrorCode::kContract, "an integer has more than 64 bits, which templates do not take: " +
                                     py::repr(value).cast<std::string>().substr(0, 40)});
  }
  return TemplateValue::integer(integer);
}

std::vector<TemplateValue> converted_elements(py::handle values, std::size_t depth) {
  std::vector<TemplateValue> elements;
  for (const py::handle value : values) elements.push_back(converted(value, depth + 1));
  return elements;
}

TemplateValue converted_dict(py::handle value, std::size_t depth) {
  std::vector<std::pair<TemplateValue, TemplateValue>> entries;
  for (const auto& [key, item] : py::reinterpret_borrow<py::dict>(value))
    entries.emplace_back(converted(key, depth + 1), converted(item, depth + 1));
  return unwrap(TemplateValue::dict(entries));
}

TemplateValue converted(py::handle value, std::size_t depth) {
  // Lists may hold themselves.
  if (depth > TemplateValue::kMaxDepth) {
    raise({ErrorCode::kContract, "values are more than " +
                                     std::to_string(TemplateValue::kMaxDepth) +
                                     " deep in one another"});
  }
  if (value.is_none()) return {};
  if (PyBool_Check(value.ptr()) != 0) return TemplateValue::boolean(value.ptr() == Py_True);
  if (PyLong_Check(value.ptr()) != 0) return converted_integer(value);
  if (PyFloat_Check(value.ptr()) != 0) return TemplateValue::real(PyFloat_AS_DOUBLE(value.ptr()));
  if (PyUnicode_Check(value.ptr()) != 0) return TemplateValue::string(utf8_of(value));
  if (PyList_Check(value.ptr()) != 0)
    return unwrap(TemplateValue::list(converted_elements(value, depth)));
  if (PyTuple_Check(value.ptr()) != 0)
    return unwrap(TemplateValue::tuple(converted_elements(value, depth)));
  if (PyDict_Check(value.ptr()) != 0) return converted_dict(value, depth);
  raise({ErrorCode::kContract,
         "templates take no " + py::str(py::type::of(value).attr("__name__")).cast<std::string>()});
}

}  // namespace

TemplateValue to_template_value(py::handle value) { return converted(value, 0); }

}  // namespace polystate::python
