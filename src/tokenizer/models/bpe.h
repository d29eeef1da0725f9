#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/merge_table.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary.h"

namespace polystate::tokenizer {

// What a piece is cut into before pairs are joined.
enum class BpeUnit : std::uint8_t {
  kCharacter,     // characters, which the vocabulary has as they are
  kAlphabetByte,  // bytes, which the vocabulary writes as characters of the byte alphabet
  kByte,          // bytes, which the vocabulary has as they are
};

struct BpeOptions {
  BpeUnit unit = BpeUnit::kCharacter;
  std::optional<std::string> unknown_token;  // for units that the vocabulary lacks; none: left out
  std::string continuing_subword_prefix;     // before every unit but a piece's first
  std::string end_of_word_suffix;            // after a piece's last unit
  bool fuse_unknown = false;                 // neighbouring unknown units become one token
  bool byte_fallback = false;                // unknown units become tokens like "<0x0A>"
  bool ignore_merges = false;                // a piece that is a token becomes it at once
};

// Byte pair encoding, as the `tokenizers` and `tiktoken` libraries do it.
class Bpe : public Model {
 public:
  // kArtifact when the vocabulary lacks a token that the options name or, where units are bytes,
  // one for some byte.
  static Result<std::unique_ptr<Bpe>> create(Vocabulary vocabulary, MergeTable merges,
                                             BpeOptions options);

  Status tokenize(std::string_view piece, std::vector<Token>& tokens) const override;

 private:
  class Splitter;

  Bpe(Vocabulary vocabulary, MergeTable merges, BpeOptions options)
      : Model(std::move(vocabulary)), merges_(std::move(merges)), options_(std::move(options)) {}
  // The token that a piece is, if any.
  [[nodiscard]] std::optional<TokenId> whole(std::string_view piece) const;

  MergeTable merges_;
  BpeOptions options_;
  std::optional<TokenId> unknown_;
  std::array<std::uint32_t, 256> ids_of_bytes_{};  // of units that are one byte; or kNoSymbol
  std::array<std::uint32_t, 256> fallback_{};      // of "<0x00>" and so on; or kNoSymbol
};

// Whether every byte's character of the alphabet is a token.
bool has_byte_alphabet(const Vocabulary& vocabulary);

}  // namespace polystate::tokenizer
