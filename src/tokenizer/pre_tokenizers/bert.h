#pragma once

#include "polystate/core/result.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"

namespace polystate::tokenizer {

// Splits at white space, which goes, and around punctuation (BertPreTokenizer).
class BertPreTokenizer : public PreTokenizer {
 public:
  Status pre_tokenize(PreTokenizedText& text) const override;
};

}  // namespace polystate::tokenizer
