#pragma once

#include <string_view>
#include <vector>

#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// The control tokens of a model that renders chats by a template, ascending: see encode_chat.
std::vector<TokenId> control_tokens(const Tokenizer& tokenizer, const ChatTemplates& templates,
                                    const ChatTemplate& chat_template);

// Whether a text is white space, of which templates have tokens as ordinary text.
bool is_space(std::string_view text);

// The tokens of a part of a rendered conversation, as encode_chat gives them, with their offsets in
// the part.
Result<Encoding> encode_chat_part(const Tokenizer& tokenizer, const ChatTemplates& templates,
                                  const RenderedChat& chat, ByteRange part, bool sanitize);

}  // namespace polystate
