#pragma once

#include <string>
#include <string_view>

#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"

namespace polystate {

// Parses and renders a template with the variables of a JSON object.
inline Result<RenderedText> rendered(std::string_view source, std::string_view variables = "{}",
                                     const RenderOptions& options = {}) {
  const Result<ChatTemplate> parsed = ChatTemplate::parse(source);
  if (!parsed) return parsed.error();
  return parsed->render(TemplateValue::parse_json(variables).value(), options);
}

// The message of the error with which a template is refused; empty where it is not.
inline std::string refusal(std::string_view source, std::string_view variables = "{}",
                           const RenderOptions& options = {}) {
  const Result<RenderedText> text = rendered(source, variables, options);
  if (text) return "";
  return text.error().code == ErrorCode::kContract ? text.error().message : "another code";
}

}  // namespace polystate
