#pragma once

#include "polystate/chat_template/chat_templates.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// The ids of a rendered conversation, without tokens that the tokenizer would add around a text:
// templates write those.
//
// `sanitize`: a control token is one only where the template itself spells it; what came from
// messages, tools, documents and variables is text. Control tokens are the tokenizer's special
// tokens, and of its other added tokens those that the model's files name as such, or, where they
// name none, those that the template has in its text or strings. Where no such text spells one, the
// ids are the same as without. kContract: as Tokenizer::encode.
Result<Encoding> encode_chat(const Tokenizer& tokenizer, const ChatTemplates& templates,
                             const RenderedChat& chat, bool sanitize = true);

}  // namespace polystate
