#include "tokenizer/normalizers/strip.h"

#include <cstddef>
#include <string_view>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/unicode/properties.h"

namespace polystate::tokenizer {

Status StripNormalizer::normalize(AlignedText& text) const {
  const std::string_view source = text.text;
  std::size_t begin = 0;
  std::size_t end = source.size();
  while (left_ && begin < end && is_white_space(character_at(source, begin).code_point))
    begin += character_size(source[begin]);
  while (right_ && end > begin) {
    const std::size_t last = previous_character(source, end);
    if (!is_white_space(character_at(source, last).code_point)) break;
    end = last;
  }
  if (begin == 0 && end == source.size()) return {};
  rewrite_text(text, [&](TextEdit& edit) { edit.keep(begin, end); });
  return {};
}

}  // namespace polystate::tokenizer
