#pragma once

#include <vector>

#include "pipeline/chat_prompt.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/core/token.h"

namespace polystate {

// The control tokens with which a template ends an answer, found by rendering one: what comes first
// behind it, white space apart, where that is a control token. `chat` has what the template is
// given besides messages.
std::vector<TokenId> chat_end_tokens(const ChatEncoder& encoder, const ChatInput& chat);

}  // namespace polystate
