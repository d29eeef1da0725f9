#include "tokenizer/aligned_text.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/utf8.h"
#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {

void TextEdit::put(char32_t code_point, std::size_t at) {
  const std::size_t before = text_.size();
  append_character(code_point, text_);
  if (alignment_ != nullptr) {
    alignment_->insert(alignment_->end(), text_.size() - before, source_alignment_[at]);
  }
}

void put_changed(std::string_view source, TextRange range,
                 std::span<const ChangedCharacter> characters, TextEdit& edit) {
  std::size_t next = range.begin;  // the next source character
  for (const ChangedCharacter& character : characters) {
    if (character.taken > 0 && next < range.end) {
      edit.put(character.code_point, next);
    } else {
      edit.put(character.code_point, next > 0 ? next - 1 : 0);
    }
    for (int i = 0; i < character.taken && next < range.end; ++i)
      next += character_size(source[next]);
  }
}

}  // namespace polystate::tokenizer
