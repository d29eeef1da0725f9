#include "response.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "chat_template.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/response/response_forms.h"
#include "polystate/response/response_parser.h"
#include "polystate/response/response_template.h"
#include "raise.h"
#include "template_value.h"
#include "text.h"
#include "without_gil.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

const char* name_of(ResponseEvent::Kind kind) {
  switch (kind) {
    case ResponseEvent::Kind::kOpen:
      return "region_open";
    case ResponseEvent::Kind::kText:
      return "region_chunk";
    case ResponseEvent::Kind::kClose:
      return "region_close";
  }
  return "";
}

// An event as transformers has it, its value as JSON.
py::dict to_dict(const ResponseEvent& event) {
  py::dict dict;
  dict["type"] = name_of(event.kind);
  dict["field"] = from_utf8(event.field);
  if (event.kind == ResponseEvent::Kind::kText) {
    dict["text"] = from_utf8(event.text);
    dict["dirty"] = event.is_raw;
  }
  if (event.kind == ResponseEvent::Kind::kClose)
    dict["value"] = from_utf8(unwrap(event.value.to_json()));
  return dict;
}

py::list to_list(const std::vector<ResponseEvent>& events) {
  py::list list;
  for (const ResponseEvent& event : events) list.append(to_dict(event));
  return list;
}

// Reads one answer. Its calls keep the GIL, as what the parser keeps changes with each: threads
// that share it feed one after the other.
class ParserBinding {
 public:
  ParserBinding(const ResponseTemplate& response_template, const py::str& prefix,
                const py::object& tools)
      : parser_(started(response_template, to_utf8(prefix), to_template_value(tools))) {}

  [[nodiscard]] py::list initial_events() const { return to_list(parser_.initial_events()); }

  py::list feed(const py::str& text) {
    const std::string given = to_utf8(text);
    return to_list(unwrap(parser_.feed(given)));
  }

  // The message as JSON, and the last events.
  py::tuple finalize() {
    const ResponseParser::Message done = unwrap(parser_.finish());
    return py::make_tuple(from_utf8(unwrap(done.message.to_json())), to_list(done.events));
  }

 private:
  static ResponseParser started(const ResponseTemplate& response_template,
                                const std::string& prefix, TemplateValue tools) {
    ResponseOptions options;
    options.tools = std::move(tools);
    return unwrap(without_gil(
        [&] { return ResponseParser::start(response_template, prefix, std::move(options)); }));
  }

  ResponseParser parser_;
};

ResponseTemplate parse_template(const py::str& json) {
  return unwrap(ResponseTemplate::parse(to_utf8(json)));
}

// The names of forms of thoughts and calls, and whether the template shows tools.
py::tuple find_forms(const ChatTemplates& templates, const py::dict& inputs,
                     const py::dict& variables) {
  const ChatInput input = to_chat_input(inputs, variables);
  const ResponseForms forms = without_gil([&] { return find_response_forms(templates, input); });
  return py::make_tuple(forms.thinking, forms.tool_calls, forms.shows_tools);
}

}  // namespace

void bind_response(py::module_& module) {
  py::class_<ResponseTemplate>(module, "ResponseTemplate").def(py::init(&parse_template));
  py::class_<ParserBinding>(module, "ResponseParser")
      .def(py::init<const ResponseTemplate&, const py::str&, const py::object&>())
      .def_property_readonly("initial_events", &ParserBinding::initial_events)
      .def("feed", &ParserBinding::feed)
      .def("finalize", &ParserBinding::finalize);
  module.def("find_response_forms", &find_forms);
}

}  // namespace polystate::python
