#pragma once

#include <cstddef>
#include <string_view>

#include "pipeline/chat_text.h"
#include "polystate/chat_template/template_value.h"

namespace polystate {

// Messages of a conversation, which are dictionaries.

// The role of answers.
inline constexpr std::string_view kAnswererRole = "assistant";

// The text of a message's field; empty where the field has no text.
std::string_view text_of(const TemplateValue& message, std::string_view field);
std::string_view role_of(const TemplateValue& message);

TemplateValue make_message(std::string_view role, TemplateValue content);
// An answer's message: its content, thoughts and calls.
TemplateValue answer_message(const TemplateValue& content, const ChatText& text);
// The message of an answer that went on, with all its content, and the thoughts and calls that were
// added.
TemplateValue with_answer(const TemplateValue& message, const TemplateValue& content,
                          const ChatText& text);
// The message with all its texts of TemplateValue::answer, as it was generated.
TemplateValue as_answer(const TemplateValue& message);

bool has_calls(const TemplateValue& message);
std::size_t count_calls(const TemplateValue& message);
// What one of a message's calls gave: a message with the role "tool", the call's name and its id.
TemplateValue result_message(const TemplateValue& message, std::size_t call,
                             std::string_view result);
// Calls, those that have no id with one of 9 characters; `before`: how many calls there were
// before.
TemplateValue with_call_ids(const TemplateValue& calls, std::size_t before);
// The message with the arguments of its calls as a JSON text, or as a dictionary, as far as they
// can be.
TemplateValue with_arguments(const TemplateValue& message, bool as_text);

}  // namespace polystate
