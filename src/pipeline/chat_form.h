#pragma once

#include <optional>
#include <vector>

#include "pipeline/chat_prompt.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/response/response_template.h"
#include "response/trial.h"

namespace polystate {

// How a conversation's answers are read as messages, and calls written into its prompts.
struct ChatForm {
  response::TemplateForms forms;  // of the chat template
  bool is_of_model = false;       // the model's files say how answers are read
  // What reads an answer that may have calls, and one that may not; none: it is content as it is.
  std::optional<ResponseTemplate> reader;
  std::optional<ResponseTemplate> reader_without_calls;
  TemplateValue tools;           // checked, or none
  std::vector<TokenId> markers;  // special tokens that a reader looks for
  std::vector<TokenId> unread;   // all others, where there are tools
};

// `chat` has what the template is given besides messages, tools not among it. kContract: a tool is
// none; the template does not show tools; or there are tools, and nothing reads calls.
Result<ChatForm> find_chat_form(const ChatEncoder& encoder, const ChatInput& chat,
                                const TemplateValue& tools);

}  // namespace polystate
