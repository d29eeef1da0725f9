#pragma once

#include <cstddef>

#include "polystate/core/result.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"

namespace polystate::tokenizer {

// Splits every `length` characters (FixedLength).
class FixedLength : public PreTokenizer {
 public:
  explicit FixedLength(std::size_t length) : length_(length) {}
  Status pre_tokenize(PreTokenizedText& text) const override;

 private:
  std::size_t length_;
};

}  // namespace polystate::tokenizer
