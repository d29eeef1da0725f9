#include "chat.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template.h"
#include "generation_options.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/grammar/response_format.h"
#include "polystate/pipeline/chat.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/stopping_criterion.h"
#include "process.h"
#include "raise.h"
#include "template_value.h"
#include "text.h"
#include "without_gil.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

// A conversation that one thread at a time uses: another one is told so.
class ChatBinding {
 public:
  // `names` and `variables` as for to_chat_input; `names` has `tool_choice` as well.
  ChatBinding(Pipeline& pipeline, const py::dict& names, const py::dict& variables, bool sanitize,
              std::optional<std::uint64_t> seed)
      : options_(options_of(to_chat_input(names, variables), sanitize, seed)),
        chat_(created(pipeline, options_, to_utf8(names["tool_choice"]))) {}

  // `response_format` as JSON, or none; `tool_choice` or none.
  ChatAnswer ask(const py::str& text, const PythonOptions& python,
                 const std::optional<std::string>& response_format,
                 const std::optional<std::string>& tool_choice) {
    const std::string given = to_utf8(text);
    return generate(python, response_format, tool_choice,
                    [&](const AnswerOptions& options) { return chat_.ask(given, options); });
  }
  ChatAnswer answer(const PythonOptions& python, const std::optional<std::string>& response_format,
                    const std::optional<std::string>& tool_choice) {
    return generate(python, response_format, tool_choice,
                    [&](const AnswerOptions& options) { return chat_.answer(options); });
  }
  ChatAnswer retry(const PythonOptions& python, const std::optional<std::string>& response_format,
                   const std::optional<std::string>& tool_choice) {
    return generate(python, response_format, tool_choice,
                    [&](const AnswerOptions& options) { return chat_.retry(options); });
  }

  // The messages as a JSON document.
  py::str messages() {
    const Claim claim(busy_);
    return from_utf8(unwrap(unwrap(TemplateValue::list(chat_.messages())).to_json()));
  }
  void set_messages(const py::list& messages) {
    std::vector<TemplateValue> values;
    for (const py::handle message : messages) values.push_back(to_template_value(message));
    const Claim claim(busy_);
    unwrap(chat_.set_messages(values));
  }
  void add_message(const py::dict& message) {
    TemplateValue value = to_template_value(message);
    const Claim claim(busy_);
    unwrap(chat_.add_message(std::move(value)));
  }
  std::size_t add_result(const py::str& result) {
    const std::string given = to_utf8(result);
    const Claim claim(busy_);
    return unwrap(chat_.add_result(given));
  }
  void set_system(const py::str& text) {
    const std::string given = to_utf8(text);
    const Claim claim(busy_);
    chat_.set_system(given);
  }
  void save(const std::filesystem::path& path) {
    check_process();
    const Claim claim(busy_);
    unwrap(without_gil([&] { return chat_.save(path); }));
  }
  void load(Pipeline& pipeline, const std::filesystem::path& path) {
    check_process();
    const Claim claim(busy_);
    chat_ = unwrap(without_gil([&] { return Chat::load(pipeline, path, options_); }));
  }
  bool undo() {
    const Claim claim(busy_);
    return chat_.undo();
  }
  void reset() {
    const Claim claim(busy_);
    chat_.reset();
  }
  std::vector<TokenId> tokens() {
    const Claim claim(busy_);
    return {chat_.tokens().begin(), chat_.tokens().end()};
  }
  std::int64_t count_tokens() {
    check_process();
    const Claim claim(busy_);
    return unwrap(without_gil([&] { return chat_.count_tokens(); }));
  }
  [[nodiscard]] std::int64_t max_tokens() const { return chat_.max_tokens(); }
  [[nodiscard]] std::vector<TokenId> eos_token_id() const {
    return chat_.default_config().eos_token_id;
  }

 private:
  // Holds a conversation for one call.
  class Claim {
   public:
    explicit Claim(std::atomic<bool>& busy) : busy_(busy) {
      if (busy_.exchange(true, std::memory_order_acquire))
        raise({ErrorCode::kBusy, "another thread is using this conversation"});
    }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    ~Claim() { busy_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool>& busy_;
  };

  static Chat created(Pipeline& pipeline, ChatOptions& options, std::string tool_choice) {
    options.tool_choice = std::move(tool_choice);
    return unwrap(without_gil([&] { return Chat::create(pipeline, options); }));
  }

  static ChatOptions options_of(ChatInput input, bool sanitize, std::optional<std::uint64_t> seed) {
    ChatOptions options;
    options.tools = std::move(input.tools);
    options.documents = std::move(input.documents);
    options.chat_template = std::move(input.chat_template);
    options.variables = std::move(input.variables);
    options.sanitize_control_tokens = sanitize;
    options.seed = seed;
    return options;
  }

  template <typename Generate>
  ChatAnswer generate(const PythonOptions& python,
                      const std::optional<std::string>& response_format,
                      const std::optional<std::string>& tool_choice, const Generate& generate) {
    check_process();
    const Claim claim(busy_);
    AnswerOptions options;
    if (response_format) options.response_format = unwrap(ResponseFormat::parse(*response_format));
    options.tool_choice = tool_choice;
    python.fill(options, chat_.default_config());
    if (const auto hear = python.on_piece<std::string_view>()) {
      // What kind of piece it is takes the place of the number of an input.
      options.on_piece = [hear](const ChatPiece& piece) {
        return hear(static_cast<std::size_t>(piece.kind), piece.text);
      };
    }
    Chat before = chat_;
    try {
      return python.finished(without_gil([&] { return generate(options); }));
    } catch (...) {  // a function of the caller's may have raised after the answer was there
      chat_ = std::move(before);
      throw;
    }
  }

  ChatOptions options_;
  Chat chat_;
  std::atomic<bool> busy_ = false;
};

}  // namespace

void bind_chat(const py::module_& module) {
  py::class_<ChatUsage, GenerationUsage>(module, "ChatUsage")
      .def_readonly("answers_encoded_again", &ChatUsage::answers_encoded_again)
      .def_readonly("messages_left_out", &ChatUsage::messages_left_out);
  py::class_<ChatAnswer>(module, "ChatAnswer")
      .def_readonly("text", &ChatAnswer::text)
      .def_readonly("thinking", &ChatAnswer::thinking)
      .def_property_readonly(
          "tool_calls",
          [](const ChatAnswer& self) { return from_utf8(unwrap(self.tool_calls.to_json())); })
      .def_property_readonly(
          "finish_reason",
          [](const ChatAnswer& self) { return std::string(name_of(self.finish_reason)); })
      .def_readonly("usage", &ChatAnswer::usage)
      .def_readonly("warnings", &ChatAnswer::warnings);
  py::class_<ChatBinding>(module, "Chat")
      .def(py::init<Pipeline&, const py::dict&, const py::dict&, bool,
                    std::optional<std::uint64_t>>(),
           py::keep_alive<1, 2>())
      .def("ask", &ChatBinding::ask)
      .def("answer", &ChatBinding::answer)
      .def("retry", &ChatBinding::retry)
      .def_property_readonly("messages", &ChatBinding::messages)
      .def("set_messages", &ChatBinding::set_messages)
      .def("add_message", &ChatBinding::add_message)
      .def("add_result", &ChatBinding::add_result)
      .def("set_system", &ChatBinding::set_system)
      .def("save", &ChatBinding::save)
      .def("load", &ChatBinding::load)
      .def("undo", &ChatBinding::undo)
      .def("reset", &ChatBinding::reset)
      .def_property_readonly("tokens", &ChatBinding::tokens)
      .def("count_tokens", &ChatBinding::count_tokens)
      .def_property_readonly("max_tokens", &ChatBinding::max_tokens)
      .def_property_readonly("eos_token_id", &ChatBinding::eos_token_id);
}

}  // namespace polystate::python
