#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"

namespace polystate::tokenizer {

// Puts a space before every piece that does not start with one (ByteLevel's add_prefix_space).
class SpacePrefix : public PreTokenizer {
 public:
  Status pre_tokenize(PreTokenizedText& text) const override;
};

// Writes every byte as its character of the byte alphabet (ByteLevel).
class ByteAlphabet : public PreTokenizer {
 public:
  Status pre_tokenize(PreTokenizedText& text) const override;
};

// Splits at white space, which goes, and around punctuation (BertPreTokenizer).
class BertPreTokenizer : public PreTokenizer {
 public:
  Status pre_tokenize(PreTokenizedText& text) const override;
};

// Which pieces get a marker put before them.
enum class PrependScheme : std::uint8_t { kNever, kFirst, kAlways };

// Writes spaces as a marker, puts one before pieces that do not start with it, and splits before
// every marker (Metaspace).
class Metaspace : public PreTokenizer {
 public:
  Metaspace(std::string marker, PrependScheme scheme, bool split)
      : marker_(std::move(marker)), scheme_(scheme), split_(split) {}
  Status pre_tokenize(PreTokenizedText& text) const override;
  [[nodiscard]] bool needs_origin() const override { return scheme_ == PrependScheme::kFirst; }

 private:
  [[nodiscard]] bool prepends(const PreTokenizedText& text, const Piece& piece) const;

  std::string marker_;
  PrependScheme scheme_;
  bool split_;
};

// Splits every `length` characters (FixedLength).
class FixedLength : public PreTokenizer {
 public:
  explicit FixedLength(std::size_t length) : length_(length) {}
  Status pre_tokenize(PreTokenizedText& text) const override;

 private:
  std::size_t length_;
};

// Splits before or after runs of a marker. Where no token of a vocabulary lies on both sides of
// such a place, byte pair encoding gives the same tokens for the parts as for the whole.
class MarkerSplit : public PreTokenizer {
 public:
  MarkerSplit(std::string marker, bool after) : marker_(std::move(marker)), after_(after) {}
  Status pre_tokenize(PreTokenizedText& text) const override;

 private:
  std::string marker_;
  bool after_;
};

}  // namespace polystate::tokenizer
