#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary.h"

namespace polystate::tokenizer {

// SentencePiece's "word" models: every piece that starts with a space marker is a token, or
// unknown: with `byte_fallback`, the tokens of its bytes.
class SentencePieceWord : public Model {
 public:
  // is_word[id]: text may become the token, as it is no control symbol nor a byte.
  SentencePieceWord(Vocabulary vocabulary, std::vector<bool> is_word, TokenId unknown,
                    bool byte_fallback)
      : Model(std::move(vocabulary)),
        is_word_(std::move(is_word)),
        unknown_(unknown),
        byte_fallback_(byte_fallback) {}

  Status tokenize(std::string_view piece, std::vector<Token>& tokens) const override;

 private:
  std::vector<bool> is_word_;
  TokenId unknown_;
  bool byte_fallback_;
};

}  // namespace polystate::tokenizer
