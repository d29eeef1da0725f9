#include "pipeline/chat_ends.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/chat_messages.h"
#include "pipeline/chat_parts.h"
#include "pipeline/chat_prompt.h"
#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

// What comes first behind the answer of a conversation.
std::optional<TokenId> end_token(const ChatEncoder& encoder, const ChatInput& chat) {
  const Result<RenderedChat> rendered = encoder.templates.render(chat);
  if (!rendered || rendered->text.answers.empty()) return std::nullopt;
  const ByteRange rest = {rendered->text.answers.back().end, rendered->text.text.size()};
  const Result<Encoding> encoding =
      encode_chat_part(encoder.tokenizer, encoder.templates, *rendered, rest, encoder.sanitize);
  if (!encoding) return std::nullopt;
  const std::vector<TokenId> control =
      control_tokens(encoder.tokenizer, encoder.templates, rendered->chat_template);
  for (const TokenId id : encoding->ids) {
    if (std::ranges::find(control, id) != control.end()) return id;
    const Result<std::string> text = encoder.tokenizer.decode({&id, 1});
    if (!text || !is_space(*text)) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::vector<TokenId> chat_end_tokens(const ChatEncoder& encoder, const ChatInput& chat) {
  const TemplateValue question = make_message("user", TemplateValue::string("Who is there?"));
  const TemplateValue answer = make_message("assistant", TemplateValue::answer("Nobody."));
  std::vector<TokenId> ends;
  // Some templates end the last answer otherwise than those before it.
  for (const auto& messages :
       {std::vector{question, answer}, std::vector{question, answer, question}}) {
    ChatInput trial = chat;
    trial.messages = TemplateValue::list(messages).value();
    const std::optional<TokenId> end = end_token(encoder, trial);
    if (end && std::ranges::find(ends, *end) == ends.end()) ends.push_back(*end);
  }
  return ends;
}

}  // namespace polystate
