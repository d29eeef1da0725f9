#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/trie.h"
#include "tokenizer/models/vocabulary.h"

namespace polystate::tokenizer {

// What a token is, as far as the best segmentation cares.
struct UnigramToken {
  double score;            // a logarithm of a probability
  bool usable = true;      // may be part of a segmentation
  bool by_length = false;  // `score` is that of each byte but one: a user-defined symbol
};

struct UnigramOptions {
  std::optional<TokenId> unknown;
  bool byte_fallback = false;
  double unknown_score = 0;
  // Whose arithmetic: sums are kept as floats (SentencePiece) or doubles (`tokenizers`). Where two
  // segmentations are nearly as good it decides.
  bool single_precision = false;
};

// The most probable segmentation (T. Kudo 2018, "Subword Regularization"), by Viterbi's algorithm.
// Time is linear in the text's length times the longest token's.
class Unigram : public Model {
 public:
  // tokens[i] belongs to id i of the vocabulary.
  static Result<std::unique_ptr<Unigram>> create(Vocabulary vocabulary,
                                                 std::vector<UnigramToken> tokens,
                                                 UnigramOptions options);

  Status tokenize(std::string_view piece, std::vector<Token>& tokens) const override;
  [[nodiscard]] std::size_t size() const override { return tokens_.size(); }

 private:
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  // The best segmentation of each prefix of a piece.
  template <typename Score>
  struct Lattice {
    // The last token of a segmentation, and where that starts; kNowhere where there is none.
    struct Last {
      TokenId id = 0;
      std::uint32_t begin = kNowhere;
    };

    Lattice(std::size_t size, std::size_t longest_token)
        : lasts(size + 1), scores(std::bit_ceil(longest_token + 1)) {}

    // Of a prefix that ends no further from where tokens are offered than the longest token does.
    Score& score(std::uint32_t end) { return scores[end & (scores.size() - 1)]; }

    void offer(std::uint32_t end, Score new_score, Last last) {
      if (lasts[end].begin != kNowhere && !(new_score > score(end))) return;
      score(end) = new_score;
      lasts[end] = last;
    }

    std::vector<Last> lasts;
    std::vector<Score> scores;  // a ring
  };

  Unigram(Vocabulary vocabulary, std::vector<UnigramToken> tokens, UnigramOptions options)
      : Model(std::move(vocabulary)), tokens_(std::move(tokens)), options_(options) {}
  static void keep_small(Lattice<float>& lattice, std::uint32_t begin, std::uint32_t frontier);
  // Appends the tokens of the best segmentation. False where a character has no token.
  template <typename Score>
  bool segment(std::string_view piece, std::vector<Token>& tokens) const;
  // Offers every token that starts at `begin`, or else the unknown one. Where the longest of them
  // ends; nothing where the character there has no token.
  template <typename Score>
  std::optional<std::uint32_t> offer_tokens(std::string_view piece, std::uint32_t begin,
                                            Lattice<Score>& lattice) const;
  // Appends the byte tokens of a text; false, and nothing appended, where one is missing.
  bool put_bytes(std::string_view text, Token unknown, std::vector<Token>& tokens) const;
  void put_unknown(std::string_view piece, Token unknown, std::vector<Token>& tokens) const;
  void join_unknown(std::string_view piece, std::size_t first, std::vector<Token>& tokens) const;

  std::vector<UnigramToken> tokens_;
  UnigramOptions options_;
  Trie trie_;
  std::size_t longest_token_ = 4;  // bytes; at least a character's
  std::array<std::optional<TokenId>, 256> fallback_;
};

}  // namespace polystate::tokenizer
