#include "tokenizer/models/renumbered.h"

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary.h"

namespace polystate::tokenizer {

Renumbered::Renumbered(std::unique_ptr<const Model> pieces, Vocabulary vocabulary,
                       TokenId unknown_piece, TokenId unknown)
    : Model(std::move(vocabulary)),
      pieces_(std::move(pieces)),
      unknown_piece_(unknown_piece),
      unknown_(unknown) {
  for (TokenId id = 0; id < pieces_->vocabulary().id_limit(); ++id) {
    const auto piece = pieces_->vocabulary().token(id);
    ids_.push_back(piece ? this->vocabulary().find(*piece).value_or(unknown) : unknown);
  }
}

Status Renumbered::tokenize(std::string_view piece, std::vector<Token>& tokens) const {
  const std::size_t before = tokens.size();
  if (const Status done = pieces_->tokenize(piece, tokens); !done) return done;
  for (std::size_t i = before; i < tokens.size(); ++i) {
    Token& token = tokens[i];
    if (token.id == unknown_piece_) {
      const std::string_view text = piece.substr(token.begin, token.end - token.begin);
      token.id = vocabulary().find(text).value_or(unknown_);
    } else {
      token.id = ids_[token.id];
    }
  }
  return {};
}

}  // namespace polystate::tokenizer
