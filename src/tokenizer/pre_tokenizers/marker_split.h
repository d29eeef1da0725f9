#pragma once

#include <string>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"

namespace polystate::tokenizer {

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
