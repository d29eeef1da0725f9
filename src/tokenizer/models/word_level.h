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
      : Model(std::move(vocabulary)), unknown_token_(std::move(unknown_token)) {}

  Status tokenize(std::string_view piece, std::vector<Token>& tokens) const override;

 private:
  std::string unknown_token_;
};

}  // namespace polystate::tokenizer
