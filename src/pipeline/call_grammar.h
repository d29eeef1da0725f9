#pragma once

#include <string_view>

#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/grammar/response_format.h"
#include "response/forms.h"

namespace polystate {

struct WantedCalls {
  const TemplateValue& tools;  // checked
  std::string_view choice;     // "auto", "required", or a tool's name
  const response::CallForm& form;
  const response::ThoughtForm* thoughts;  // which may come first; none: nullptr
  bool has_begun_thoughts;                // they began in the prompt
};

// What an answer has to be to call tools: thoughts, where the model has some, and calls of the form
// with arguments that their schemas find valid; of a tool's name one call. "auto": any text, of
// which nothing but such calls has the beginning of one, unless it is in thoughts.
//
// kContract: calls of the form have no beginning ("auto"). kUnsupported: as argument_format.
Result<ResponseFormat> call_format(const WantedCalls& wanted);

}  // namespace polystate
