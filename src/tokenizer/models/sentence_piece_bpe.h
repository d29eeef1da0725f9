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

 private:
  SentencePieceBpe(Vocabulary vocabulary, SentencePieceBpeOptions options)
      : Model(std::move(vocabulary)), options_(options) {}
  Status add_merges(const std::vector<BpePiece>& pieces);
  [[nodiscard]] std::optional<Token> user_symbol(std::string_view piece, std::uint32_t begin) const;
  [[nodiscard]] TokenId id_of(TokenId symbol) const;
  void join_unknown(std::size_t first, std::vector<Token>& tokens) const;
  void split_unknown(std::string_view piece, std::size_t first, std::vector<Token>& tokens) const;

  SentencePieceBpeOptions options_;
  MergeTable merges_;
  // Pieces, and characters that only longer pieces have, which get numbers above all ids.
  Vocabulary symbols_;
  std::array<std::uint32_t, 128> ascii_{};  // symbols of ASCII characters; or kNoSymbol
  Trie user_symbols_;
  bool has_user_symbols_ = false;
  std::array<TokenId, 256> fallback_{};
};

}  // namespace polystate::tokenizer
