#include "pipeline/chat_messages.h"

#include <string_view>
#include <utility>

#include "chat_template/value.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"

namespace polystate {

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

TemplateValue with_content(const TemplateValue& message, const TemplateValue& content) {
  chat_template::Dict dict = message.value().dict();
  dict.set(chat_template::Value::string("content"), content.value());
  return TemplateValue(chat_template::Value::dict(std::move(dict)));
}

}  // namespace polystate
