#pragma once

#include "polystate/core/result.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"

namespace polystate::tokenizer {

// Splits where the script changes (UnicodeScripts). Spaces and characters of no script belong to
// the run before them, and those before the first run are left out; kanji, kana and the prolonged
// sound mark are one script.
class UnicodeScripts : public PreTokenizer {
 public:
  Status pre_tokenize(PreTokenizedText& text) const override;
};

}  // namespace polystate::tokenizer
