#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/regex/pattern.h"

namespace polystate::tokenizer {

// What becomes of the delimiters that a text is split at: "a-b" split at "-".
enum class DelimiterBehavior : std::uint8_t {
  kRemoved,             // "a", "b"
  kIsolated,            // "a", "-", "b"
  kMergedWithPrevious,  // "a-", "b"
  kMergedWithNext,      // "a", "-b"
  kContiguous,          // as kIsolated, but neighbouring delimiters stay together
};

// Splits at the matches of a pattern or, inverted, at what lies between them.
class PatternSplit : public PreTokenizer {
 public:
  PatternSplit(Pattern pattern, DelimiterBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  Status pre_tokenize(PreTokenizedText& text) const override;

 private:
  Pattern pattern_;
  DelimiterBehavior behavior_;
  bool invert_;
};

// Splits at characters of a kind.
class CharacterSplit : public PreTokenizer {
 public:
  using Kind = std::function<bool(char32_t)>;
  CharacterSplit(Kind is_delimiter, DelimiterBehavior behavior)
      : is_delimiter_(std::move(is_delimiter)), behavior_(behavior) {}
  Status pre_tokenize(PreTokenizedText& text) const override;

 private:
  Kind is_delimiter_;
  DelimiterBehavior behavior_;
};

// Splits `piece` at the delimiters, which are ranges within its text, in order. Inverted, what lies
// between them are the delimiters.
class DelimiterSplit {
 public:
  DelimiterSplit(DelimiterBehavior behavior, bool invert) : behavior_(behavior), invert_(invert) {}
  void split(const Piece& piece, std::span<const TextRange> delimiters, std::vector<Piece>& out);

 private:
  struct Part {
    TextRange range;
    bool delimiter;
  };
  void merge_with_previous();
  void merge_with_next();
  void merge_contiguous();

  DelimiterBehavior behavior_;
  bool invert_;
  std::vector<Part> parts_;  // of the piece at hand
};

}  // namespace polystate::tokenizer
