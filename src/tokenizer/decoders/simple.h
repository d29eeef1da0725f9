#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/regex/pattern.h"

// The decoders of the `tokenizers` library, named as there.
namespace polystate::tokenizer {

// Puts spaces between tokens: what happens where a file names no decoder.
class JoinDecoder : public Decoder {
 public:
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
};

// Turns characters of the byte alphabet back into bytes, of all tokens together. A token with other
// characters stands for its own bytes. What is not UTF-8 becomes U+FFFD.
class ByteLevelDecoder : public Decoder {
 public:
  // `raw`: the tokens are given as bytes already.
  explicit ByteLevelDecoder(bool raw) : raw_(raw) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;

 private:
  bool raw_;
};

// Takes the prefix off tokens that continue a word, puts a space before others; `cleanup` removes
// spaces before punctuation and English contractions.
class WordPieceDecoder : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup)
      : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;

 private:
  std::string prefix_;
  bool cleanup_;
};

// Turns the marker into a space, or into nothing in the first token if `strips_first`.
class MetaspaceDecoder : public Decoder {
 public:
  MetaspaceDecoder(std::string marker, bool strips_first)
      : marker_(std::move(marker)), strips_first_(strips_first) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;

 private:
  std::string marker_;
  bool strips_first_;
};

// Turns the suffix into a space, or into nothing in the last token.
class BpeDecoder : public Decoder {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;

 private:
  std::string suffix_;
};

// Leaves out repeated tokens and the padding token of connectionist temporal classification.
class CtcDecoder : public Decoder {
 public:
  CtcDecoder(std::string pad_token, std::string word_delimiter, bool cleanup)
      : pad_token_(std::move(pad_token)),
        word_delimiter_(std::move(word_delimiter)),
        cleanup_(cleanup) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;

 private:
  std::string pad_token_;
  std::string word_delimiter_;
  bool cleanup_;
};

// Replaces every match in each token.
class ReplaceDecoder : public Decoder {
 public:
  ReplaceDecoder(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;

 private:
  Pattern pattern_;
  std::string content_;
};

// Makes one token of all.
class FuseDecoder : public Decoder {
 public:
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
};

// Removes up to `start` and `stop` of a character from the ends of each token.
class StripDecoder : public Decoder {
 public:
  StripDecoder(std::string character, std::size_t start, std::size_t stop)
      : character_(std::move(character)), start_(start), stop_(stop) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;

 private:
  std::string character_;
  std::size_t start_;
  std::size_t stop_;
};

// Turns runs of tokens like "<0xE2>" into the text of these bytes; where that is not UTF-8, each
// into U+FFFD.
class ByteFallbackDecoder : public Decoder {
 public:
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
};

}  // namespace polystate::tokenizer
