#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/merge_table.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/trie.h"
#include "tokenizer/models/vocabulary.h"

namespace polystate::tokenizer {

// A piece that byte pair encoding may join others to.
struct BpePiece {
  TokenId id;
  std::string_view text;  // not empty; valid UTF-8
  float score;            // higher ones are joined first
  bool user_defined;
};

struct SentencePieceBpeOptions {
  TokenId unknown = 0;
  bool byte_fallback = false;
  bool merges = true;  // false: pieces are single characters (SentencePiece's "char" models)
};

// Byte pair encoding as SentencePiece does it: two neighbours are joined where together they are a
// piece, and user-defined symbols stay whole.
class SentencePieceBpe : public Model {
 public:
  // Finding the merges of a piece takes time that grows with the square of its length.
  static constexpr std::size_t kMaxPieceBytes = 4096;

  // `pieces` are of the vocabulary. kUnsupported when it has ids over Trie::kMaxValue, or a piece
  // is longer than kMaxPieceBytes.
  static Result<std::unique_ptr<SentencePieceBpe>> create(Vocabulary vocabulary,
                                                          const std::vector<BpePiece>& pieces,
                                                          SentencePieceBpeOptions options);

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
  SentencePieceBpe() = default;
  Status add_merges(const std::vector<BpePiece>& pieces);
  // The user-defined symbol that a text starts with, and its size.
  [[nodiscard]] std::optional<Symbol> user_symbol(std::string_view text) const;
  void put(Symbol symbol, std::uint32_t begin, std::string_view piece,
           std::vector<Token>& tokens) const;

  Vocabulary vocabulary_;
  SentencePieceBpeOptions options_;
  MergeTable merges_;
  // Pieces, and characters that only longer pieces have, which get numbers above all ids.
  Vocabulary symbols_;
  std::array<std::uint32_t, 128> ascii_{};  // symbols of ASCII characters; or kNoSymbol
  Trie user_symbols_;
  bool has_user_symbols_ = false;
  std::array<TokenId, 256> fallback_{};
};

// SentencePiece's "word" models: every piece that starts with a space marker is a token, or
// unknown: with `byte_fallback`, the tokens of its bytes.
class SentencePieceWord : public Model {
 public:
  // is_word[id]: text may become the token, as it is no control symbol nor a byte.
  SentencePieceWord(Vocabulary vocabulary, std::vector<bool> is_word, TokenId unknown,
                    bool byte_fallback)
      : vocabulary_(std::move(vocabulary)),
        is_word_(std::move(is_word)),
        unknown_(unknown),
        byte_fallback_(byte_fallback) {}

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
  std::vector<bool> is_word_;
  TokenId unknown_;
  bool byte_fallback_;
};

}  // namespace polystate::tokenizer
