#pragma once

#include <string_view>

#include "polystate/chat_template/template_value.h"

namespace polystate {

// Messages of a conversation, which are dictionaries.

// The text of a message's field; empty where it is none.
std::string_view text_of(const TemplateValue& message, std::string_view field);
std::string_view role_of(const TemplateValue& message);

TemplateValue make_message(std::string_view role, TemplateValue content);
// The message with another content.
TemplateValue with_content(const TemplateValue& message, const TemplateValue& content);

}  // namespace polystate
