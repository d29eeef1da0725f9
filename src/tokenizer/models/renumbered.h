#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary.h"

namespace polystate::tokenizer {

// The pieces of another model, with the ids of a vocabulary of its own: `transformers` numbers the
// pieces of a SentencePiece model so.
class Renumbered : public Model {
 public:
  // `unknown_piece`: of `pieces`; `unknown`: of `vocabulary`, for pieces that it lacks.
  Renumbered(std::unique_ptr<const Model> pieces, Vocabulary vocabulary, TokenId unknown_piece,
             TokenId unknown);

  Status tokenize(std::string_view piece, std::vector<Token>& tokens) const override;

 private:
  std::unique_ptr<const Model> pieces_;
  TokenId unknown_piece_;
  TokenId unknown_;
  std::vector<TokenId> ids_;  // of this vocabulary, by those of the pieces
};

}  // namespace polystate::tokenizer
