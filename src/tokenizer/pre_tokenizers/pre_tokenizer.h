#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"

namespace polystate::tokenizer {

// Splits a normalized text into pieces. Immutable, and shared by threads.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;

  // kContract when the text is too much for a regular expression, or grows over
  // kMaxNormalizedBytes; `text` is then of no use.
  virtual Status pre_tokenize(PreTokenizedText& text) const = 0;

  // Whether it must know where in the caller's text a piece starts.
  [[nodiscard]] virtual bool needs_origin() const { return false; }

  // Whether it writes bytes in the byte alphabet, which a model that reads bytes can spare.
  [[nodiscard]] virtual bool writes_byte_alphabet() const { return false; }
};

// One after the other.
class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<const PreTokenizer>> parts)
      : parts_(std::move(parts)) {}
  Status pre_tokenize(PreTokenizedText& text) const override;
  [[nodiscard]] bool needs_origin() const override;

 private:
  std::vector<std::unique_ptr<const PreTokenizer>> parts_;
};

}  // namespace polystate::tokenizer
