#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "polystate/core/token.h"  // IWYU pragma: export

namespace polystate {

// A part of a text, from `begin` up to but not including `end`: in bytes, where nothing else is
// said.
struct TextRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  friend bool operator==(const TextRange&, const TextRange&) = default;
};

// What a tokenizer makes of one text, or of a pair. The vectors have one element a token, except
// `offsets`, which is empty unless it was asked for.
struct Encoding {
  std::vector<TokenId> ids;
  // The bytes of the caller's text (of its own text, in a pair) that each token stands for, or the
  // code points where EncodeOptions::offset_unit says so; {0, 0} for tokens that were added. A
  // range never splits a character, so tokens that are parts of one character have the same.
  std::vector<TextRange> offsets;
  std::vector<std::uint32_t> type_ids;            // which text of a pair, as the file says
  std::vector<std::uint8_t> special_tokens_mask;  // 1: added by the post-processor or as padding
  std::vector<std::uint8_t> attention_mask;       // 0: padding
  // What truncation cut off, in pieces of the same length that overlap by the file's stride.
  std::vector<Encoding> overflowing;
};

}  // namespace polystate
