#include "response/trial.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/value.h"
#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/response/response_forms.h"
#include "polystate/response/response_parser.h"
#include "polystate/response/response_template.h"
#include "response/forms.h"

namespace polystate::response {
namespace {

using chat_template::Dict;
using chat_template::Value;

constexpr std::string_view kSpace = " \t\n\r";
constexpr std::string_view kName = "look_up_tides";
constexpr std::string_view kThought = "I look at the tides.";
constexpr std::string_view kContent = "High water is at noon.";
constexpr std::string_view kArguments = R"({"harbour": "Brest", "days": 3})";
constexpr std::string_view kText = "Brest";  // the argument among them that is one
constexpr std::string_view kTools = R"([{"type": "function", "function": {
  "name": "look_up_tides", "description": "Say when the water is high.",
  "parameters": {"type": "object", "required": ["harbour"], "properties": {
    "harbour": {"type": "string", "description": "Where"},
    "days": {"type": "integer", "description": "For how long"}}}}}])";
// Ids that calls may have: none, the 9 characters that some templates ask for, and what others make
// a call's name of.
constexpr std::string_view kIds[] = {"", "abcdefgh1", "functions.look_up_tides:0"};

TemplateValue json(std::string_view text) { return TemplateValue::parse_json(text).value(); }

Value string(std::string_view text) { return TemplateValue::string(text).value(); }

// An answer of fields and texts.
Dict answer(std::string_view content) {
  Dict message;
  message.set(Value::string("role"), string("assistant"));
  message.set(Value::string("content"), string(content));
  return message;
}

// How a message has a call.
struct CallStyle {
  std::string_view id;
  bool is_text;      // of the arguments
  bool has_content;  // which is empty
};

Dict call_answer(const CallStyle& style) {
  Dict function;
  function.set(Value::string("name"), string(kName));
  function.set(Value::string("arguments"),
               style.is_text ? string(kArguments) : json(kArguments).value());
  Dict call;
  call.set(Value::string("type"), string("function"));
  if (!style.id.empty()) call.set(Value::string("id"), string(style.id));
  call.set(Value::string("function"), Value::dict(std::move(function)));
  Dict message = style.has_content ? answer("") : Dict();
  message.set(Value::string("role"), string("assistant"));
  message.set(Value::string("tool_calls"), Value::list({Value::dict(std::move(call))}));
  return message;
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const std::size_t size = std::min(a.size(), b.size());
  return static_cast<std::size_t>(std::distance(
      a.begin(),
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(size), b.begin()).first));
}

// The text without a marker at its end, such as "</s>" or "[END]"; nothing where it has none.
std::optional<std::string_view> without_marker(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(kSpace) + 1);
  if (text.empty()) return std::nullopt;
  const char close = text.back();
  if (close != '>' && close != ']') return std::nullopt;
  const std::size_t open = text.rfind(close == '>' ? '<' : '[');
  if (open == std::string_view::npos) return std::nullopt;
  return text.substr(0, open);
}

// Has a template write conversations.
class Trial {
 public:
  Trial(const ChatTemplates& templates, ChatInput chat, bool with_tools)
      : templates_(templates), chat_(std::move(chat)) {
    question_ = answer("When is the water high?");
    question_.set(Value::string("role"), string("user"));
    chat_.tools = with_tools ? json(kTools) : TemplateValue();
    asked_ = text_of({question_}, false).value_or("");
    const std::string prompt = text_of({question_}, true).value_or("");
    if (prompt.starts_with(asked_)) begin_ = prompt.substr(asked_.size());
  }

  [[nodiscard]] bool shows_tools() const { return asked_.find(kName) != std::string::npos; }
  // What the template writes before an answer.
  [[nodiscard]] const std::string& begin() const { return begin_; }
  [[nodiscard]] const Dict& question() const { return question_; }

  [[nodiscard]] std::optional<std::string> text_of(const std::vector<Dict>& messages,
                                                   bool begins_answer) const {
    chat_template::Elements elements;
    for (const Dict& message : messages) elements.push_back(Value::dict(message));
    ChatInput chat = chat_;
    chat.messages = TemplateValue(Value::list(std::move(elements)));
    chat.add_generation_prompt = begins_answer;
    const Result<RenderedChat> rendered = templates_.render(chat);
    if (!rendered) return std::nullopt;
    return rendered->text.text;
  }

  // What a model may have written for the template to write this answer: where it begins and ends
  // is not marked, so that there are several.
  [[nodiscard]] std::vector<std::string> candidates(const Dict& message) const {
    const std::optional<std::string> whole = text_of({question_, message}, false);
    if (!whole) return {};
    const std::string_view rest = std::string_view(*whole).substr(common_prefix(*whole, asked_));
    const std::size_t common = common_prefix(rest, begin_);
    std::vector<std::string_view> begun = {rest};
    if (common == begin_.size()) begun.push_back(rest.substr(common));
    const std::size_t marker = rest.substr(0, common).find_last_of(">]\n");
    if (marker != std::string_view::npos) begun.push_back(rest.substr(marker + 1));
    std::vector<std::string> all;
    for (const std::string_view begin : begun) {
      std::optional<std::string_view> text = begin;
      for (int markers = 0; text && markers < 3; ++markers) {
        all.emplace_back(*text);
        text = without_marker(*text);
      }
    }
    return all;
  }

 private:
  const ChatTemplates& templates_;
  ChatInput chat_;
  Dict question_;
  std::string asked_;
  std::string begin_;
};

std::optional<Dict> read(const ResponseTemplate& form, const std::string& text) {
  ResponseOptions options;
  options.tools = json(kTools);
  const Result<TemplateValue> message = parse_response(form, text, "", options);
  if (!message) return std::nullopt;
  return message->value().dict();
}

// The arguments of the only call, where it is of the known name.
std::optional<Value> read_arguments(const ResponseTemplate& form, const std::string& text) {
  const std::optional<Dict> message = read(form, text);
  if (!message) return std::nullopt;
  const Value* const calls = message->find("tool_calls");
  if (calls == nullptr || !calls->is_sequence() || calls->elements().size() != 1)
    return std::nullopt;
  const Value* const function = calls->elements().front().dict().find("function");
  if (!equal(*function->dict().find("name"), string(kName))) return std::nullopt;
  return *function->dict().find("arguments");
}

bool reads_call(const ResponseTemplate& form, const std::string& text) {
  const std::optional<Value> arguments = read_arguments(form, text);
  return arguments && equal(*arguments, json(kArguments).value());
}

// An expression for white space that is written, and that a model may leave out.
std::string optional_space(std::string_view space) {
  return space.empty() ? std::string() : "(?:" + std::string(space) + ")?";
}

// What is around the value of a text that the template wrote.
ValueSpace space_in(const CallForm& form, const std::string& text) {
  if (form.tag_pattern.empty()) return {};
  const std::optional<Value> arguments = read_arguments(template_of(nullptr, &form), text);
  if (!arguments || arguments->kind() != Value::Kind::kDict) return {};
  const Value* const value = arguments->dict().find("harbour");
  if (value == nullptr || !value->is_string()) return {};
  const std::string_view whole = value->bytes();
  const std::size_t at = whole.find(kText);
  if (at == std::string_view::npos) return {};
  return {optional_space(whole.substr(0, at)), optional_space(whole.substr(at + kText.size()))};
}

bool reads_thought(const ResponseTemplate& form, const std::string& text) {
  const std::optional<Dict> message = read(form, text);
  if (!message) return false;
  const Value* const thought = message->find("reasoning_content");
  return thought != nullptr && equal(*thought, string(kThought));
}

const std::vector<ResponseTemplate>& call_readers() {
  static const std::vector<ResponseTemplate> kReaders = [] {
    const ValueSpace any_space = {R"(\s*)", R"(\s*)"};
    std::vector<ResponseTemplate> readers;
    for (const CallForm& form : call_forms())
      readers.push_back(template_of(nullptr, &form, any_space));
    return readers;
  }();
  return kReaders;
}

const CallForm* call_form(const std::vector<std::string>& candidates, ValueSpace& space) {
  for (std::size_t i = 0; i < call_readers().size(); ++i) {
    const CallForm& form = call_forms()[i];
    for (const std::string& text : candidates) {
      const bool is_possible = text.find(form.needed) != std::string::npos;
      if (!is_possible || !reads_call(call_readers()[i], text)) continue;
      space = space_in(form, text);
      return &form;
    }
  }
  return nullptr;
}

void find_calls(const Trial& trial, TemplateForms& found) {
  for (const std::string_view id : kIds) {
    for (const bool is_text : {false, true}) {
      for (const bool has_content : {true, false}) {
        found.calls =
            call_form(trial.candidates(call_answer({id, is_text, has_content})), found.value_space);
        if (found.calls == nullptr) continue;
        found.arguments_are_text = is_text;
        found.calls_need_ids = !id.empty();
        return;
      }
    }
  }
}

// Whether the template leaves out thoughts that an earlier answer's content has.
bool leaves_out(const Trial& trial, const ThoughtForm& form) {
  std::string content(form.open);
  content.append("\n").append(kThought).append("\n").append(form.close).append("\n\n");
  const Dict message = answer(content.append(kContent));
  const auto text = trial.text_of({trial.question(), message, trial.question()}, false);
  return text && text->find(kContent) != std::string::npos &&
         text->find(kThought) == std::string::npos;
}

const ThoughtForm* thought_form(const Trial& trial) {
  Dict message = answer(kContent);
  message.set(Value::string("reasoning_content"), string(kThought));
  Dict with_call = call_answer({kIds[1], false, true});
  with_call.set(Value::string("reasoning_content"), string(kThought));
  std::vector<std::string> candidates = trial.candidates(message);
  const std::vector<std::string> more = trial.candidates(with_call);
  candidates.insert(candidates.end(), more.begin(), more.end());
  for (const ThoughtForm& form : thought_forms()) {
    const ResponseTemplate reader = template_of(&form, nullptr);
    if (std::ranges::any_of(candidates,
                            [&](const std::string& text) { return reads_thought(reader, text); })) {
      return &form;
    }
  }
  for (const ThoughtForm& form : thought_forms()) {
    if (trial.begin().find(form.open) != std::string::npos || leaves_out(trial, form)) return &form;
  }
  return nullptr;
}

}  // namespace

TemplateForms find_forms(const ChatTemplates& templates, const ChatInput& chat, bool with_calls) {
  const Trial trial(templates, chat, with_calls);
  TemplateForms found;
  found.shows_tools = trial.shows_tools();
  found.thoughts = thought_form(trial);
  if (with_calls) find_calls(trial, found);
  return found;
}

std::string begun_thoughts(const ThoughtForm& form, const RenderedText& prompt) {
  const std::string_view text = prompt.text;
  const std::size_t end = text.find_last_not_of(kSpace) + 1;
  const std::string_view open = form.open.substr(0, form.open.find_last_not_of(kSpace) + 1);
  if (!text.substr(0, end).ends_with(open)) return {};
  const std::size_t begin = end - open.size();
  const bool is_users = std::ranges::any_of(
      prompt.users, [begin](const ByteRange& range) { return range.end > begin; });
  return is_users ? std::string() : std::string(text.substr(begin));
}

}  // namespace polystate::response

namespace polystate {

ResponseForms find_response_forms(const ChatTemplates& templates, const ChatInput& chat) {
  const response::TemplateForms found = response::find_forms(templates, chat, true);
  ResponseForms forms;
  if (found.thoughts != nullptr) forms.thinking = found.thoughts->name;
  if (found.calls != nullptr) forms.tool_calls = found.calls->name;
  forms.shows_tools = found.shows_tools;
  return forms;
}

}  // namespace polystate
