#include "tokenizer/models/sentence_piece_word.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/model.h"
#include "tokenizer/normalizers/sentence_piece.h"

namespace polystate::tokenizer {

Status SentencePieceWord::tokenize(std::string_view piece, std::vector<Token>& tokens) const {
  std::size_t begin = 0;
  while (begin < piece.size()) {
    const std::size_t end = std::min(piece.find(kSpaceMarker, begin + 1), piece.size());
    const std::string_view word = piece.substr(begin, end - begin);
    TokenId id = vocabulary().find(word).value_or(unknown_);
    if (!is_word_[id]) id = unknown_;
    if (id == unknown_ && byte_fallback_) {
      for (const char byte : word) {
        const auto token = vocabulary().find(byte_token(static_cast<unsigned char>(byte)));
        tokens.push_back({token.value_or(unknown_), static_cast<std::uint32_t>(begin),
                          static_cast<std::uint32_t>(end)});
      }
    } else if (begin > 0 && id == unknown_ && tokens.back().id == unknown_) {
      tokens.back().end = static_cast<std::uint32_t>(end);
    } else {
      tokens.push_back({id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
    }
    begin = end;
  }
  return {};
}

}  // namespace polystate::tokenizer
