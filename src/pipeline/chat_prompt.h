#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "polystate/chat_template/chat_templates.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// An answer of a model as it was generated. It borrows both.
struct GeneratedAnswer {
  std::span<const TokenId> ids;  // without an end token
  std::string_view text;         // of these, after what came before them
};

struct ChatPrompt {
  std::vector<TokenId> ids;
  std::int64_t encoded_again = 0;  // answers that are not in `ids` as they were generated
};

// How conversations are encoded.
struct ChatEncoder {
  const Tokenizer& tokenizer;
  const ChatTemplates& templates;
  bool sanitize;
};

// The ids of a rendered conversation: those that were generated where the text is an answer's, and
// has nothing of the user's in it; else as encode_chat gives them. `answers` are those among the
// messages, in their order; their messages are of TemplateValue::answer. Errors as encode_chat.
Result<ChatPrompt> make_chat_prompt(const ChatEncoder& encoder, const RenderedChat& chat,
                                    std::span<const GeneratedAnswer> answers);

}  // namespace polystate
