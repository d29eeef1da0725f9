#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary.h"

namespace polystate::tokenizer {

// Every piece is a token, or unknown.
class WordLevel : public Model {
 public:
  WordLevel(Vocabulary vocabulary, std::string unknown_token)
      : vocabulary_(std::move(vocabulary)), unknown_token_(std::move(unknown_token)) {}

  Status tokenize(std::string_view piece, std::vector<Token>& tokens) const override;
  [[nodiscard]] std::optional<TokenId> token_to_id(std::string_view token) const override {
    return vocabulary_.find(token);
  }
  [[nodiscard]] std::optional<std::string_view> id_to_token(TokenId id) const override {
    return vocabulary_.token(id);
  }
  [[nodiscard]] std::size_t size() const override { return vocabulary_.size(); }
  [[nodiscard]] std::size_t id_limit() const override { return vocabulary_.id_limit(); }

 private:
  Vocabulary vocabulary_;
  std::string unknown_token_;
};

}  // namespace polystate::tokenizer
