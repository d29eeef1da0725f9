#include "tokenizer/post_processors/post_processor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/post_processors/append.h"
#include "tokenizer/unicode/properties.h"

namespace polystate::tokenizer {
namespace {

// U+0120, which byte-level vocabularies write a space as.
constexpr char32_t kAlphabetSpace = 0x120;

struct Spaces {
  std::size_t leading = 0;
  std::size_t trailing = 0;
};

Spaces count_spaces(std::string_view token) {
  Spaces spaces;
  if (valid_prefix(token) != token.size()) return spaces;
  bool only_spaces = true;
  for (std::size_t i = 0; i < token.size();) {
    const Utf8Character character = character_at(token, i);
    const bool space =
        character.code_point == kAlphabetSpace || is_white_space(character.code_point);
    only_spaces = only_spaces && space;
    if (only_spaces) ++spaces.leading;
    spaces.trailing = space ? spaces.trailing + 1 : 0;
    i += character.size;
  }
  return spaces;
}

// Moves `position` over `count` characters, towards `limit` and not past it.
std::uint32_t skip_forward(std::string_view text, std::uint32_t position, std::size_t count,
                           std::uint32_t limit) {
  for (; count > 0 && position < limit; --count) {
    ++position;
    while (position < limit && !starts_character(text[position])) ++position;
  }
  return position;
}

std::uint32_t skip_backward(std::string_view text, std::uint32_t position, std::size_t count,
                            std::uint32_t limit) {
  for (; count > 0 && position > limit; --count) {
    --position;
    while (position > limit && !starts_character(text[position])) --position;
  }
  return position;
}

// Puts `before` and `after` around an encoding and what overflows of it.
void surround(std::optional<TokenId> before, TokenId after, std::uint32_t type_id, bool offsets,
              Encoding& encoding) {
  Encoding whole;
  if (before) append_special_token(whole, *before, type_id, offsets);
  std::vector<Encoding> overflowing = std::move(encoding.overflowing);
  encoding.overflowing.clear();
  std::fill(encoding.special_tokens_mask.begin(), encoding.special_tokens_mask.end(), 0);
  append_encoding(whole, encoding);
  append_special_token(whole, after, type_id, offsets);
  for (Encoding& part : overflowing) surround(before, after, type_id, offsets, part);
  whole.overflowing = std::move(overflowing);
  encoding = std::move(whole);
}

void set_type_ids(std::uint32_t type_id, Encoding& encoding) {
  std::fill(encoding.type_ids.begin(), encoding.type_ids.end(), type_id);
}

}  // namespace

void PostProcessorSequence::process(const PostProcessing& with,
                                    std::vector<EncodedPart>& parts) const {
  for (const auto& part : parts_) part->process(with, parts);
}

std::size_t PostProcessorSequence::added_tokens(bool pair) const {
  std::size_t count = 0;
  for (const auto& part : parts_) count += part->added_tokens(pair);
  return count;
}

void TrimOffsets::trim(const PostProcessing& with, std::string_view text,
                       Encoding& encoding) const {
  for (std::size_t i = 0; i < encoding.offsets.size(); ++i) {
    TextRange& range = encoding.offsets[i];
    Spaces spaces = count_spaces(
        with.token(encoding.ids[i], text.substr(range.begin, range.end - range.begin)));
    const bool is_first = i == 0 || range.begin == 0;
    if (is_first && add_prefix_space_ && spaces.leading == 1) spaces.leading = 0;
    range.begin = skip_forward(text, range.begin, spaces.leading, range.end);
    range.end = skip_backward(text, range.end, spaces.trailing, range.begin);
  }
}

void TrimOffsets::process(const PostProcessing& with, std::vector<EncodedPart>& parts) const {
  for (EncodedPart& part : parts) {
    trim(with, with.texts[part.text], part.encoding);
    for (Encoding& encoding : part.encoding.overflowing)
      trim(with, with.texts[part.text], encoding);
  }
}

void ClassificationTokens::process(const PostProcessing& with,
                                   std::vector<EncodedPart>& parts) const {
  const bool bert = style_ == Style::kBert;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Encoding& encoding = parts[i].encoding;
    if (!bert) {
      set_type_ids(0, encoding);
      for (Encoding& part : encoding.overflowing) set_type_ids(0, part);
    }
    if (!with.add_special_tokens) continue;
    if (i == 0) {
      surround(start_, separator_, 0, with.offsets, encoding);
    } else if (bert) {
      surround(std::nullopt, separator_, 1, with.offsets, encoding);
    } else {
      surround(separator_, separator_, 0, with.offsets, encoding);
    }
  }
}

void Template::process(const PostProcessing& with, std::vector<EncodedPart>& parts) const {
  std::vector<EncodedPart> result;
  for (const Item& item : parts.size() == 2 ? pair_ : single_) {
    if (item.text) {
      result.push_back(parts[*item.text]);
      set_type_ids(item.type_id, result.back().encoding);
    } else if (with.add_special_tokens) {
      EncodedPart added;
      for (const TokenId id : item.ids)
        append_special_token(added.encoding, id, item.type_id, with.offsets);
      result.push_back(std::move(added));
    }
  }
  parts = std::move(result);
}

std::size_t Template::added_tokens(bool pair) const {
  std::size_t count = 0;
  for (const Item& item : pair ? pair_ : single_) count += item.ids.size();
  return count;
}

}  // namespace polystate::tokenizer
