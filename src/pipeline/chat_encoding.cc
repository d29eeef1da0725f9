#include "polystate/pipeline/chat_encoding.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/chat_parts.h"
#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

bool is_space(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); });
}

std::vector<TokenId> control_tokens(const Tokenizer& tokenizer, const ChatTemplates& templates,
                                    const ChatTemplate& chat_template) {
  const std::optional<std::vector<std::string>>& named = templates.control_tokens();
  std::vector<TokenId> tokens;
  for (const TokenId id : tokenizer.added_tokens()) {
    const std::string text = tokenizer.id_to_token(id).value_or("");
    const bool is_control = named ? std::ranges::find(*named, text) != named->end()
                                  : chat_template.writes(text) && !is_space(text);
    if (tokenizer.is_special(id) || is_control) tokens.push_back(id);
  }
  return tokens;
}

Result<Encoding> encode_chat_part(const Tokenizer& tokenizer, const ChatTemplates& templates,
                                  const RenderedChat& chat, ByteRange part, bool sanitize) {
  EncodeOptions options;
  options.add_special_tokens = false;
  options.truncate = false;
  options.pad = false;
  options.offsets = true;
  if (sanitize) {
    options.plain_parts.tokens = control_tokens(tokenizer, templates, chat.chat_template);
    for (const ByteRange& range : chat.text.users) {
      const std::size_t begin = std::max(range.begin, part.begin);
      const std::size_t end = std::min(range.end, part.end);
      if (begin >= end) continue;
      options.plain_parts.ranges.push_back({static_cast<std::uint32_t>(begin - part.begin),
                                            static_cast<std::uint32_t>(end - part.begin)});
    }
  }
  const std::string_view text = chat.text.text;
  return tokenizer.encode(text.substr(part.begin, part.end - part.begin), options);
}

Result<Encoding> encode_chat(const Tokenizer& tokenizer, const ChatTemplates& templates,
                             const RenderedChat& chat, bool sanitize) {
  const ByteRange whole = {0, chat.text.text.size()};
  return encode_chat_part(tokenizer, templates, chat, whole, sanitize);
}

}  // namespace polystate
