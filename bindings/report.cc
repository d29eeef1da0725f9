#include "report.h"

#include <pybind11/pybind11.h>

#include <string>

#include "polystate/core/result.h"
#include "polystate/report/document.h"
#include "polystate/report/render.h"
#include "raise.h"
#include "text.h"
#include "without_gil.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

Result<std::string> page_of(const std::string& json) {
  const Result<report::Document> document = report::read_report(json);
  if (!document) return document.error();
  return report::render_html(*document);
}

// A report as one page of HTML; polystate/report/render.h has its form in JSON.
py::str render_html(const py::str& json) {
  const std::string text = to_utf8(json);
  return from_utf8(unwrap(without_gil([&] { return page_of(text); })));
}

}  // namespace

void bind_report(py::module_& module) { module.def("render_html", &render_html); }

}  // namespace polystate::python
