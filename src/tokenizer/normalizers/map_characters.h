#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "core/utf8.h"
#include "tokenizer/aligned_text.h"

namespace polystate::tokenizer {

// Replaces every character by what `map` makes of it; nothing removes it. Where nothing changes,
// the text is not copied.
template <typename Map>
void map_characters(AlignedText& text, Map&& map) {
  const std::string_view source = text.text;
  std::size_t position = 0;
  while (position < source.size()) {
    const Utf8Character character = character_at(source, position);
    if (map(character.code_point) != character.code_point) break;
    position += character.size;
  }
  if (position == source.size()) return;
  rewrite_text(text, [&](TextEdit& edit) {
    std::size_t kept = 0;
    while (position < source.size()) {
      const Utf8Character character = character_at(source, position);
      const std::optional<char32_t> mapped = map(character.code_point);
      if (mapped != character.code_point) {
        edit.keep(kept, position);
        if (mapped) edit.put(*mapped, position);
        kept = position + character.size;
      }
      position += character.size;
    }
    edit.keep(kept, source.size());
  });
}

// Removes the characters for which `remove` is true.
template <typename Remove>
void remove_characters(AlignedText& text, Remove&& remove) {
  map_characters(text, [&](char32_t code_point) {
    return remove(code_point) ? std::nullopt : std::optional(code_point);
  });
}

}  // namespace polystate::tokenizer
