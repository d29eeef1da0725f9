#include "pipeline/chat_messages.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "chat_template/text.h"
#include "chat_template/value.h"
#include "pipeline/chat_text.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "response/json_value.h"

namespace polystate {
namespace {

using chat_template::Dict;
using chat_template::Elements;
using chat_template::Origin;
using chat_template::Value;

constexpr std::string_view kCalls = "tool_calls";

Value key(std::string_view name) { return Value::string(name); }

void set_answer(Dict& message, const TemplateValue& content, const ChatText& text) {
  if (!text.thinking.empty())
    message.set(key("reasoning_content"), TemplateValue::answer(text.thinking).value());
  message.set(key("content"), content.value());
  if (!text.tool_calls.value().is_none()) message.set(key(kCalls), text.tool_calls.value());
}

// Whose the arguments of a call are.
Origin origin_of(const Dict& function) {
  const Value* const name = function.find("name");
  return name != nullptr && name->is_string() ? name->text().origin_at(0) : Origin::kUser;
}

// The arguments in the other form; none where they have none.
std::optional<Value> changed_arguments(const Value& arguments, bool as_text, Origin origin) {
  if (as_text && arguments.kind() == Value::Kind::kDict) {
    const Result<std::string> text = TemplateValue(arguments).to_json();
    if (text) return Value::string(*text, origin);
  }
  if (!as_text && arguments.is_string()) {
    Result<Value> parsed = response::parse_value(arguments.bytes(), origin);
    if (parsed) return *std::move(parsed);
  }
  return std::nullopt;
}

Value call_with_arguments(const Value& call, bool as_text) {
  if (call.kind() != Value::Kind::kDict) return call;
  const Value* const function = call.dict().find("function");
  if (function == nullptr || function->kind() != Value::Kind::kDict) return call;
  const Value* const arguments = function->dict().find("arguments");
  if (arguments == nullptr) return call;
  std::optional<Value> changed =
      changed_arguments(*arguments, as_text, origin_of(function->dict()));
  if (!changed) return call;
  Dict with_changed = function->dict();
  with_changed.set(key("arguments"), *std::move(changed));
  Dict dict = call.dict();
  dict.set(key("function"), Value::dict(std::move(with_changed)));
  return Value::dict(std::move(dict));
}

}  // namespace

std::string_view text_of(const TemplateValue& message, std::string_view field) {
  const chat_template::Value* const value = message.value().dict().find(field);
  return value != nullptr && value->is_string() ? value->bytes() : std::string_view();
}

std::string_view role_of(const TemplateValue& message) { return text_of(message, "role"); }

TemplateValue make_message(std::string_view role, TemplateValue content) {
  // It is not too deep, and its keys are texts.
  return TemplateValue::dict({{TemplateValue::string("role"), TemplateValue::string(role)},
                              {TemplateValue::string("content"), std::move(content)}})
      .value();
}

TemplateValue answer_message(const TemplateValue& content, const ChatText& text) {
  Dict message;
  message.set(key("role"), TemplateValue::string("assistant").value());
  set_answer(message, content, text);
  return TemplateValue(Value::dict(std::move(message)));
}

TemplateValue with_answer(const TemplateValue& message, const TemplateValue& content,
                          const ChatText& text) {
  Dict dict = message.value().dict();
  set_answer(dict, content, text);
  return TemplateValue(Value::dict(std::move(dict)));
}

TemplateValue as_answer(const TemplateValue& message) {
  return TemplateValue(response::with_origin(message.value(), Origin::kAnswer));
}

bool has_calls(const TemplateValue& message) {
  return role_of(message) == "assistant" && count_calls(message) > 0;
}

std::size_t count_calls(const TemplateValue& message) {
  const Value* const calls = message.value().dict().find(kCalls);
  return calls != nullptr && calls->is_sequence() ? calls->elements().size() : 0;
}

TemplateValue result_message(const TemplateValue& message, std::size_t call,
                             std::string_view result) {
  Dict tool;
  tool.set(key("role"), TemplateValue::string("tool").value());
  const Value& called = message.value().dict().find(kCalls)->elements()[call];
  if (called.kind() == Value::Kind::kDict) {
    const Value* const function = called.dict().find("function");
    const bool is_dict = function != nullptr && function->kind() == Value::Kind::kDict;
    const Value* const name = is_dict ? function->dict().find("name") : nullptr;
    if (name != nullptr) tool.set(key("name"), *name);
    if (const Value* const id = called.dict().find("id")) tool.set(key("tool_call_id"), *id);
  }
  tool.set(key("content"), TemplateValue::string(result).value());
  return TemplateValue(Value::dict(std::move(tool)));
}

TemplateValue with_call_ids(const TemplateValue& calls, std::size_t before) {
  constexpr std::size_t kDigits = 5;  // behind the 4 letters of "call"
  if (!calls.value().is_sequence()) return calls;
  Elements elements;
  for (const Value& call : calls.value().elements()) {
    std::string number = std::to_string(++before);
    number.insert(0, kDigits - std::min(kDigits, number.size()), '0');
    Dict numbered = call.dict();
    if (numbered.find("id") == nullptr)
      numbered.set(key("id"), TemplateValue::string("call" + number).value());
    elements.push_back(Value::dict(std::move(numbered)));
  }
  return TemplateValue(Value::list(std::move(elements)));
}

TemplateValue with_arguments(const TemplateValue& message, bool as_text) {
  if (!has_calls(message)) return message;
  Elements calls;
  for (const Value& call : message.value().dict().find(kCalls)->elements())
    calls.push_back(call_with_arguments(call, as_text));
  Dict dict = message.value().dict();
  dict.set(key(kCalls), Value::list(std::move(calls)));
  return TemplateValue(Value::dict(std::move(dict)));
}

}  // namespace polystate
