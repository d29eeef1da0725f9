#pragma once

#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/charsmap.h"
#include "tokenizer/normalizers/normalizer.h"

namespace polystate::tokenizer {

// A charsmap applied as the `tokenizers` library does it: to each grapheme cluster of less than six
// bytes that starts with one of its strings, the shortest; else to each character. SentencePiece
// itself takes the longest string at each place: see SentencePieceNormalizer.
class PrecompiledNormalizer : public Normalizer {
 public:
  explicit PrecompiledNormalizer(Charsmap map) : map_(std::move(map)) {}
  Status normalize(AlignedText& text) const override;

 private:
  class Rewrite;
  Charsmap map_;
};

}  // namespace polystate::tokenizer
