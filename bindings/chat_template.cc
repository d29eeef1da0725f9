#include "chat_template.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "raise.h"
#include "template_value.h"
#include "text.h"
#include "without_gil.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

ChatTemplate parse(py::handle source) {
  const std::string text = to_utf8(source);
  return unwrap(without_gil([&] { return ChatTemplate::parse(text); }));
}

// The first eight fields of a time.struct_time.
std::tm to_time(const std::vector<int>& fields) {
  if (fields.size() != 8)
    raise({ErrorCode::kContract, "a time has 8 fields, not " + std::to_string(fields.size())});
  std::tm time{};
  time.tm_year = fields[0] - 1900;
  time.tm_mon = fields[1] - 1;
  time.tm_mday = fields[2];
  time.tm_hour = fields[3];
  time.tm_min = fields[4];
  time.tm_sec = fields[5];
  time.tm_wday = (fields[6] + 1) % 7;
  time.tm_yday = fields[7] - 1;
  return time;
}

// `now`: a local time as time.struct_time has it, or None for the clock's.
py::tuple render(const ChatTemplate& self, const py::dict& variables,
                 const std::optional<std::vector<int>>& now) {
  const TemplateValue values = to_template_value(variables);
  RenderOptions options;
  if (now) options.now = [time = to_time(*now)] { return time; };
  const RenderedText rendered = unwrap(without_gil([&] { return self.render(values, options); }));
  py::list users;
  for (const ByteRange& range : rendered.users)
    users.append(py::make_tuple(range.begin, range.end));
  return py::make_tuple(rendered.text, users);
}

}  // namespace

void bind_chat_template(py::module_& module) {
  py::class_<ChatTemplate>(module, "ChatTemplate")
      .def("render", &render)
      .def("writes",
           [](const ChatTemplate& self, py::handle text) { return self.writes(to_utf8(text)); });
  module.def("parse_chat_template", &parse);
}

}  // namespace polystate::python
