#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/trie.h"
#include "tokenizer/models/vocabulary.h"

namespace polystate::tokenizer {

struct WordPieceOptions {
  std::string unknown_token = "[UNK]";
  std::string continuing_subword_prefix = "##";
  std::size_t max_input_chars_per_word = 100;  // longer pieces are unknown
};

// The longest token first, again and again; a piece that this fails for is unknown as a whole
// (M. Schuster and K. Nakajima 2012, "Japanese and Korean Voice Search").
class WordPiece : public Model {
 public:
  static Result<std::unique_ptr<WordPiece>> create(Vocabulary vocabulary, WordPieceOptions options);

  Status tokenize(std::string_view piece, std::vector<Token>& tokens) const override;

 private:
  WordPiece(Vocabulary vocabulary, WordPieceOptions options)
      : Model(std::move(vocabulary)), options_(std::move(options)) {}

  WordPieceOptions options_;
  std::optional<TokenId> unknown_;
  Trie trie_;
  Trie::Node continuation_ = Trie::kNone;  // the node of the prefix
};

}  // namespace polystate::tokenizer
