#pragma once

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"

namespace polystate::tokenizer {

struct BertOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;
  bool lowercase = true;
};

// What BERT does: removes control characters, puts spaces around CJK ideographs, removes accents,
// and lowercases.
class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(BertOptions options) : options_(options) {}
  Status normalize(AlignedText& text) const override;

 private:
  BertOptions options_;
};

}  // namespace polystate::tokenizer
