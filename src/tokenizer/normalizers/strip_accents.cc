#include "tokenizer/normalizers/strip_accents.h"

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/map_characters.h"
#include "tokenizer/unicode/properties.h"

namespace polystate::tokenizer {

Status StripAccentsNormalizer::normalize(AlignedText& text) const {
  remove_characters(text, [](char32_t c) { return c >= 0x300 && is_mark(c); });
  return {};
}

}  // namespace polystate::tokenizer
