#pragma once

#include <string>

#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/chat_templates.h"
#include "response/forms.h"

namespace polystate::response {

// What a chat template writes where a conversation has thoughts and calls, found by having it write
// some that are known: the form is that which reads from the text what was given.
struct TemplateForms {
  const ThoughtForm* thoughts = nullptr;  // none that is known
  const CallForm* calls = nullptr;
  ValueSpace value_space;  // what the template writes around the values of arguments that are tags
  bool shows_tools = false;  // to the model
  // How messages must have calls for the template to take them.
  bool arguments_are_text = false;
  bool calls_need_ids = false;
};

// `chat` has what the template is given besides messages; its tools are left out of account.
// `with_calls`: whether calls are looked for.
TemplateForms find_forms(const ChatTemplates& templates, const ChatInput& chat, bool with_calls);

// What a prompt ends with from where the template opens thoughts; empty where it does not.
std::string begun_thoughts(const ThoughtForm& form, const RenderedText& prompt);

}  // namespace polystate::response
