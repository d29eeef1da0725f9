#pragma once

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

}  // namespace polystate::tokenizer
