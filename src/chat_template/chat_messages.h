#pragma once

#include <string>
#include <string_view>

#include "chat_template/value.h"
#include "polystate/chat_template/chat_template.h"
#include "polystate/core/result.h"

namespace polystate::chat_template {

// A conversation as templates are given it.
struct PreparedMessages {
  Value messages;
  // Where the last message goes on, its text, with a tag behind it in `messages`.
  std::string continued;
};

// Does to messages what transformers does before it renders them. `continued_field`: of the last
// message, which gets the tag; empty: none. `source`: the template's. kContract where transformers
// refuses them.
Result<PreparedMessages> prepared(const Value& messages, std::string_view continued_field,
                                  std::string_view source);

// Cuts a rendered text off where the tag is. kContract where the template lost it, or the message.
Status cut_at_tag(std::string_view continued, RenderedText& rendered);

}  // namespace polystate::chat_template
