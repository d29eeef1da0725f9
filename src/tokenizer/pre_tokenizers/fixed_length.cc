#include "tokenizer/pre_tokenizers/fixed_length.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"

namespace polystate::tokenizer {

Status FixedLength::pre_tokenize(PreTokenizedText& text) const {
  const std::string_view source = text.text();
  text.split([&](const Piece& piece, std::vector<Piece>& out) {
    for (std::uint32_t begin = piece.begin; begin < piece.end;) {
      std::uint32_t end = begin;
      for (std::size_t count = 0; count < length_ && end < piece.end; ++count)
        end += character_size(source[end]);
      out.push_back({begin, end, {}});
      begin = end;
    }
  });
  return {};
}

}  // namespace polystate::tokenizer
