#include "chat_template.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/pipeline/artifact_text.h"
#include "polystate/pipeline/chat_encoding.h"
#include "polystate/session/model.h"
#include "polystate/tokenizer/encoding.h"
#include "raise.h"
#include "template_value.h"
#include "text.h"
#include "tokenizer.h"
#include "without_gil.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

ChatTemplate parse_template(py::handle source) {
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

// The options of a rendering; `now`: a local time, or none for the clock's.
RenderOptions render_options(const std::optional<std::vector<int>>& now) {
  RenderOptions options;
  if (now) options.now = [time = to_time(*now)] { return time; };
  return options;
}

std::string render_template(const ChatTemplate& self, const py::dict& variables,
                            const std::optional<std::vector<int>>& now) {
  const TemplateValue values = to_template_value(variables);
  const RenderOptions options = render_options(now);
  return unwrap(without_gil([&] { return self.render(values, options); })).text;
}

ChatTemplates open_templates(const std::filesystem::path& folder) {
  return unwrap(without_gil([&] { return ChatTemplates::open(folder); }));
}

ChatTemplates model_templates(const Model& model) {
  return unwrap(without_gil([&] { return chat_templates_of(model.artifact()); }));
}

RenderedChat render_chat(const ChatTemplates& self, const py::dict& inputs,
                         const py::dict& variables, const std::optional<std::vector<int>>& now) {
  const ChatInput input = to_chat_input(inputs, variables);
  const RenderOptions options = render_options(now);
  return unwrap(without_gil([&] { return self.render(input, options); }));
}

Encoding encode_rendered(const TokenizerBinding& tokenizer, const ChatTemplates& templates,
                         const RenderedChat& chat, bool sanitize) {
  return unwrap(
      without_gil([&] { return encode_chat(*tokenizer.tokenizer, templates, chat, sanitize); }));
}

py::list users(const RenderedChat& chat) {
  py::list ranges;
  for (const ByteRange& range : chat.text.users)
    ranges.append(py::make_tuple(range.begin, range.end));
  return ranges;
}

}  // namespace

ChatInput to_chat_input(const py::dict& inputs, const py::dict& variables) {
  ChatInput input;
  input.messages = to_template_value(inputs["messages"]);
  input.tools = to_template_value(inputs["tools"]);
  input.documents = to_template_value(inputs["documents"]);
  if (!inputs["chat_template"].is_none()) input.chat_template = to_utf8(inputs["chat_template"]);
  input.add_generation_prompt = inputs["add_generation_prompt"].cast<bool>();
  input.continue_final_message = to_utf8(inputs["continue_final_message"]);
  for (const auto& [name, value] : variables)
    input.variables.emplace_back(to_utf8(name), to_template_value(value));
  return input;
}

void bind_chat_template(py::module_& module) {
  py::class_<ChatTemplate>(module, "ChatTemplate").def("render", &render_template);
  module.def("parse_chat_template", &parse_template);
  py::class_<RenderedChat>(module, "RenderedChat")
      .def_property_readonly("text", [](const RenderedChat& chat) { return chat.text.text; })
      .def_property_readonly("users", &users);
  py::class_<ChatTemplates>(module, "ChatTemplates")
      .def(py::init())
      .def("render", &render_chat)
      .def_property_readonly("names", &ChatTemplates::names)
      .def_property_readonly("response_template", &ChatTemplates::response_template);
  module.def("open_chat_templates", &open_templates);
  module.def("model_chat_templates", &model_templates);
  module.def("encode_chat", &encode_rendered);
}

}  // namespace polystate::python
