#include "tokenizer/pre_tokenizers/pre_tokenizer.h"

#include <algorithm>

#include "polystate/core/result.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"

namespace polystate::tokenizer {

Status PreTokenizerSequence::pre_tokenize(PreTokenizedText& text) const {
  for (const auto& part : parts_) {
    if (const Status done = part->pre_tokenize(text); !done) return done;
    if (text.text().size() > kMaxNormalizedBytes) return grew_too_much(text.text().size());
  }
  return {};
}

bool PreTokenizerSequence::needs_origin() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const auto& part) { return part->needs_origin(); });
}

}  // namespace polystate::tokenizer
