#include "tokenizer/normalizers/byte_level.h"

#include <cstddef>
#include <string_view>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/unicode/byte_alphabet.h"

namespace polystate::tokenizer {

Status ByteLevelNormalizer::normalize(AlignedText& text) const {
  const std::string_view source = text.text;
  rewrite_text(text, [&](TextEdit& edit) {
    for (std::size_t i = 0; i < source.size(); ++i)
      edit.put(alphabet_character(static_cast<unsigned char>(source[i])).view(), i);
  });
  return {};
}

}  // namespace polystate::tokenizer
